#!/usr/bin/env bash
# Packs each operator and the guard into an image archive, without Docker. images.sh [OPERATOR…]: without names, all of them.
# Where there is Docker, deploy/images/operator.Dockerfile makes the same with a distroless base.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
host="$(rustc --print host-tuple)"
[ "$#" -gt 0 ] || set -- etcd kafka

# With AUDITABLE=1, as in a release, the binaries carry the list of their crates, for scanners of images.
build=(build)
if [ -n "${AUDITABLE:-}" ]; then
  PATH="$(dirname "$(cargo_tool cargo-auditable 0.7.7)"):$PATH"
  build=(auditable build)
fi

# The guard runs in images with another C library or with none: it is linked statically.
step "build ballast-guard" env RUSTFLAGS="-C target-feature=+crt-static" \
  cargo "${build[@]}" --release --locked --target "$host" --package ballast-guard --bin ballast-guard
for operator in "$@"; do
  name="$operator-operator"
  archive="$BALLAST_CACHE/$name-$version.tar"
  step "build $name" cargo "${build[@]}" --release --locked --package "$name" --bin "$name"
  lab image-from-binary --name "docker.io/ballast/$name:$version" --out "$archive" \
    --entrypoint "/usr/local/bin/$name" \
    "$CARGO_TARGET_DIR/release/$name" "$CARGO_TARGET_DIR/$host/release/ballast-guard"
  printf 'docker.io/ballast/%s:%s is in %s\n' "$name" "$version" "$archive"
done
