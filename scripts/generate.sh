#!/usr/bin/env bash
# Writes the generated files: resource types into the charts, one-file manifests into deploy/, references into docs/.
# generate.sh [FOLDER]: into another folder, with the same layout, for `make check` to compare.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

out="${1:-.}"
operators=(etcd kafka)

namespace() {
  cat <<'YAML'
apiVersion: v1
kind: Namespace
metadata:
  name: ballast-system
  labels:
    app.kubernetes.io/part-of: ballast
    pod-security.kubernetes.io/enforce: restricted
YAML
}

# What all charts have in common is written once, in charts/common; a chart must have it in its own folder.
common() {
  local operator="$1" kind="$2" to="$3" file
  (cd charts/common && find . -type f) | while read -r file; do
    mkdir -p "$(dirname "$to/$file")"
    sed -e "s/@APPLICATION@/$operator/g" -e "s/@KIND@/$kind/g" "charts/common/$file" >"$to/$file"
  done
}

manifests() {
  local operator="$1" name="$1-operator" chart kind
  cargo build --locked --package "$name" --bin "$name"
  # The chart is copied, so that what is rendered holds the new resource type even if it is not written here.
  chart="$(mktemp -d)"
  trap 'rm -rf "$chart"' RETURN
  cp -r "charts/$name/." "$chart"
  mkdir -p "$chart/files"
  "$CARGO_TARGET_DIR/debug/$name" crd >"$chart/files/crds.yaml"
  kind="$(sed -n 's/^    kind: //p' "$chart/files/crds.yaml" | head -n 1)"
  common "$operator" "$kind" "$chart"
  common "$operator" "$kind" "$out/charts/$name"

  mkdir -p "$out/charts/$name/files" "$out/deploy" "$out/docs/reference"
  cp "$chart/files/crds.yaml" "$out/charts/$name/files/crds.yaml"
  {
    printf '<!-- Made from the resource type by `make generate`; do not edit. -->\n\n'
    "$CARGO_TARGET_DIR/debug/$name" reference
  } >"$out/docs/reference/$operator.md"
  {
    printf '# Everything that the %s operator needs: kubectl create -f deploy/%s.yaml\n' "$operator" "$name"
    printf '# Made from charts/%s by `make generate`; do not edit.\n' "$name"
    namespace
    # Nothing here is Helm's: its labels and its policy for uninstalling would be wrong.
    helm template "$name" "$chart" --namespace ballast-system --skip-tests --set crds.keep=false |
      sed -e '/^ *helm\.sh\/chart:/d' -e '/^ *app\.kubernetes\.io\/managed-by: Helm$/d' -e '/^# Source: /d' |
      cat -s
  } >"$out/deploy/$name.yaml"
  mkdir -p "$out/deploy/kustomize/$name"
  # A copy: kustomize reads nothing outside of its own folder.
  cp "$out/deploy/$name.yaml" "$out/deploy/kustomize/$name/operator.yaml"

  mkdir -p "$out/charts/$name/tests"
  for values in "$chart"/tests/*.yaml; do
    golden "$chart" "$values" >"$out/charts/$name/tests/$(basename "$values" .yaml).golden"
  done
}

for operator in "${operators[@]}"; do
  manifests "$operator"
done
