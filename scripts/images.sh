#!/usr/bin/env bash
# Packs the etcd operator and the guard into an image archive, without Docker. Where there is Docker,
# deploy/images/etcd-operator.Dockerfile makes the same with a distroless base.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
host="$(rustc --print host-tuple)"
archive="$BALLAST_CACHE/etcd-operator-$version.tar"

# With AUDITABLE=1, as in a release, the binaries carry the list of their crates, for scanners of images.
build=(build)
if [ -n "${AUDITABLE:-}" ]; then
  PATH="$(dirname "$(cargo_tool cargo-auditable 0.7.7)"):$PATH"
  build=(auditable build)
fi

step "build etcd-operator" cargo "${build[@]}" --release --locked --package etcd-operator --bin etcd-operator
# The guard runs in images with another C library or with none: it is linked statically.
step "build ballast-guard" env RUSTFLAGS="-C target-feature=+crt-static" \
  cargo "${build[@]}" --release --locked --target "$host" --package ballast-guard --bin ballast-guard
lab image-from-binary --name "docker.io/ballast/etcd-operator:$version" --out "$archive" \
  --entrypoint /usr/local/bin/etcd-operator \
  "$CARGO_TARGET_DIR/release/etcd-operator" "$CARGO_TARGET_DIR/$host/release/ballast-guard"
printf 'docker.io/ballast/etcd-operator:%s is in %s\n' "$version" "$archive"
