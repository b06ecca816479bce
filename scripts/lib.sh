# Shared by the scripts beside it: where things are, and how a step is shown.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export BALLAST_CACHE="${BALLAST_CACHE:-${HOME:-/root}/.cache/ballast}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$BALLAST_CACHE/target}"

# step NAME COMMAND…: runs it, says how long it took, and stops everything if it fails.
step() {
  local name="$1" start=$SECONDS status=0
  shift
  printf '==> %s\n' "$name"
  # `set -e` would not hold inside of a command whose status is asked for with || or if.
  set +e
  (
    set -euo pipefail
    "$@"
  )
  status=$?
  set -e
  if [ "$status" -ne 0 ]; then
    printf '==> %s FAILED after %s\n' "$name" "$(duration $((SECONDS - start)))" >&2
    exit "$status"
  fi
  printf '==> %s: ok, %s\n' "$name" "$(duration $((SECONDS - start)))"
}

# duration SECONDS: as 75 s or 3 min 20 s.
duration() {
  if [ "$1" -lt 100 ]; then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# The lab command, built if it is not up to date.
lab() {
  cargo build --locked --package ballast-lab --bin lab
  "$CARGO_TARGET_DIR/debug/lab" "$@"
}

# Helm of the pinned version, built when it is first used.
helm() {
  local program=""
  # Once per script: the path is kept.
  if [ -z "${BALLAST_HELM:-}" ]; then
    lab tools helm >&2
    # The newest, should an older version be in the cache as well.
    program="$(ls -t "$BALLAST_CACHE"/tools/helm-*/helm 2>/dev/null | head -n 1)"
    [ -n "$program" ] || { echo "helm: 'lab tools helm' built none" >&2; return 1; }
    export BALLAST_HELM="$program"
  fi
  # Without what the caller may have configured for another Helm.
  env -u KUBECONFIG HELM_NO_PLUGINS=1 "$BALLAST_HELM" "$@"
}

# cargo_tool NAME VERSION: the path of a command of Cargo, built when it is first used.
cargo_tool() {
  local root="$BALLAST_CACHE/tools/$1-$2"
  [ -x "$root/bin/$1" ] || CARGO_TARGET_DIR="$BALLAST_CACHE/target-tools" cargo install --quiet --locked --root "$root" "$1@$2" >&2
  printf '%s\n' "$root/bin/$1"
}

# kubectl of the pinned Kubernetes, which takes minutes to build: only where it is needed anyway, or there already.
kubectl() {
  local program=""
  [ -z "${CI:-}" ] || lab tools kubernetes >&2
  program="$(ls -t "$BALLAST_CACHE"/tools/kubernetes-*/kubectl 2>/dev/null | head -n 1)"
  [ -n "$program" ] || program="$(type -P kubectl)" || return 127
  env -u KUBECONFIG "$program" "$@"
}

# golden CHART VALUES: everything that the chart makes of these values, without the resource type, which is generated.
golden() {
  helm template operator "$1" --namespace ballast-system --values "$2" | awk '
    function flush() { if (text != "" && !definition) printf "%s", text; text = ""; definition = 0 }
    /^---$/ { flush() }
    /^kind: CustomResourceDefinition$/ { definition = 1 }
    { text = text $0 "\n" }
    END { flush() }'
}
