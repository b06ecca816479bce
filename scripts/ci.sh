#!/usr/bin/env bash
# What a change must pass. Ends at the first phase that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

begin=$SECONDS
summary=()

phase() {
  local name="$1" start=$SECONDS
  shift
  step "$name" "$@"
  summary+=("$(printf '%-8s %s' "$name" "$(duration $((SECONDS - start)))")")
}

e2e() { cargo run --locked --package ballast-e2e -- run --gate; }

# Another part of the crashes with each change, and always the same with the same.
export BALLAST_CRASH_SEED="${BALLAST_CRASH_SEED:-$(git rev-list --count HEAD 2>/dev/null || echo 0)}"

phase check scripts/check.sh
phase test make --no-print-directory test
phase e2e e2e

printf '\n'
printf '%s\n' "${summary[@]}"
printf '%-8s %s\n' all "$(duration $((SECONDS - begin)))"
