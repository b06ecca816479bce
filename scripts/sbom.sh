#!/usr/bin/env bash
# Writes a list of everything that is built into an operator's image (CycloneDX, JSON), from Cargo.lock: sbom.sh [FOLDER].
# Not part of `make check` or `make ci`: the tool is built when this is first used.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

out="${1:-$BALLAST_CACHE/sbom}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"

# The tool writes beside each Cargo.toml, so it gets a copy of the workspace.
workspace="$(mktemp -d)"
trap 'rm -rf "$workspace"' EXIT
git ls-files -z --cached --others --exclude-standard -- Cargo.toml Cargo.lock '*/Cargo.toml' '*.rs' |
  xargs -0 cp --parents --target-directory "$workspace"

cyclonedx() {
  local tool
  tool="$(cargo_tool cargo-cyclonedx 0.5.9)"
  # The same input gives the same file: the time is that of the last commit, and there is no serial number.
  SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" "$tool" cyclonedx --manifest-path "$workspace/Cargo.toml" \
    --format json --target "$(rustc --print host-tuple)" --no-build-deps --quiet
}

step "sbom" cyclonedx
mkdir -p "$out"
for manifest in operators/*/operator/Cargo.toml shared/guard/Cargo.toml; do
  name="$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -n 1)"
  # Where the copy was is nobody's concern, and would make two lists of the same differ.
  sed "s|$workspace/||g" "$workspace/$(dirname "$manifest")/$name.cdx.json" >"$out/$name-$version.cdx.json"
  printf '%s: %s components\n' "$out/$name-$version.cdx.json" "$(grep -c '"purl"' "$out/$name-$version.cdx.json")"
done
