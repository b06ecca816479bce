#!/usr/bin/env bash
# Installs the Debian packages the project's build and the lab need, as far as they are missing. Says nothing when none is.
# prerequisites.sh java: also what fetches and runs Kafka.
set -euo pipefail

packages=(
  busybox-static ca-certificates conntrack coreutils curl e2fsprogs g++ gcc iproute2 iptables libc-bin libc6-dev libfaketime
  libprotobuf-dev libseccomp-dev make mount pkg-config protobuf-compiler util-linux xfsprogs
)
go_minor=26
java_major=17
with=${1:-}
if [ "$with" = java ]; then
  # It may have come another way than from a package. jlink is part of what builds with Java, and not of what only runs it.
  command -v mvn >/dev/null || packages+=(maven)
  command -v java >/dev/null && command -v jlink >/dev/null || packages+=(openjdk-17-jdk-headless)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  echo "prerequisites: installing ${missing[*]}" >&2
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  install() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install --yes --no-install-recommends "${missing[@]}" >"$log" 2>&1
  }
  # The lists are fetched only when those at hand do not do.
  if ! install && ! { "${root[@]}" apt-get update >"$log" 2>&1 && install; }; then
    tail -n 15 "$log" >&2
    echo "prerequisites: cannot install ${missing[*]}; install them by hand and try again" >&2
    exit 1
  fi
fi

failed=0
if ! command -v go >/dev/null; then
  echo "prerequisites: Go is missing: install 1.$go_minor or newer from https://go.dev/dl/ and put it on PATH" >&2
  failed=1
elif minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p'); [ "${minor:-0}" -lt "$go_minor" ]; then
  echo "prerequisites: Go 1.$minor is too old: install 1.$go_minor or newer from https://go.dev/dl/" >&2
  failed=1
fi
if [ "$with" = java ]; then
  major=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
  if [ "${major:-0}" -lt "$java_major" ]; then
    echo "prerequisites: Java ${major:-of an unknown version} is too old: put $java_major or newer on PATH" >&2
    failed=1
  fi
fi
if ! command -v cargo >/dev/null; then
  echo "prerequisites: Rust is missing: install it from https://rustup.rs and put ~/.cargo/bin on PATH" >&2
  failed=1
fi
exit $failed
