#!/usr/bin/env bash
# Everything that can be found without running the software. check.sh [CHECK…]: only these.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

# Files that are, or are about to be, part of the repository.
files() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do [ -e "$file" ] && echo "$file"; done; }

format() {
  cargo fmt --all --check -- -l || {
    echo "these files are not formatted: run cargo fmt --all" >&2
    return 1
  }
}

lints() { cargo clippy --locked --workspace --all-targets -- --deny warnings; }

# The pure crates: the same lint settings, and no dependency that could do anything impure.
purity() {
  local crate packages=() tree found
  for crate in shared/core operators/*/core; do
    cmp shared/core/clippy.toml "$crate/clippy.toml"
    packages+=(--package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$crate/Cargo.toml" | head -n 1)")
  done
  tree="$(cargo tree --locked "${packages[@]}" --edges normal --prefix none --format '{p}')"
  found="$(awk '{ print $1 }' <<<"$tree" | sort -u |
    grep -xE 'tokio|hyper|hyper-util|reqwest|tonic|kube-client|kube-runtime|etcd-client|rdkafka|rand|fastrand|getrandom' || true)"
  if [ -n "$found" ]; then
    echo "a pure crate depends on: $found" >&2
    return 1
  fi
}

generated() {
  # Not local: the trap runs when the function is gone.
  fresh="$(mktemp -d)"
  trap 'rm -rf "$fresh"' EXIT
  scripts/generate.sh "$fresh"
  (cd "$fresh" && find . -type f) | while read -r file; do
    diff --unified "$file" "$fresh/$file" || {
      echo "$file is not up to date: run make generate" >&2
      return 1
    }
  done
}

charts() {
  local chart values
  for chart in charts/*-operator/; do
    helm lint --strict --quiet "$chart"
    for values in "$chart"ci/*.yaml; do
      helm lint --strict --quiet "$chart" --values "$values"
      helm template check "$chart" --values "$values" >/dev/null
    done
    # What is made of typical values is committed, so that a change of it is seen.
    for values in "$chart"tests/*.yaml; do
      helm lint --strict --quiet "$chart" --values "$values"
      diff --unified "${values%.yaml}.golden" <(golden "$chart" "$values") || {
        echo "${values%.yaml}.golden is not what the chart makes of it: look at the difference, then run make generate" >&2
        return 1
      }
    done
  done
}

# The kustomize base is what the one-file manifest is, and can be built upon.
kustomize() {
  local base made status
  for base in deploy/kustomize/*/; do
    status=0
    made="$(kubectl kustomize "$base")" || status=$?
    if [ "$status" -eq 127 ]; then
      echo "no kubectl on this machine: only in CI, or once make up has built it"
      return 0
    fi
    [ "$status" -eq 0 ] || return "$status"
    if [ "$(grep -c '^kind:' <<<"$made")" -ne "$(grep -c '^kind:' "deploy/$(basename "$base").yaml")" ]; then
      echo "$base makes other objects than deploy/$(basename "$base").yaml" >&2
      return 1
    fi
  done
}

# What people copy must be valid: the samples, and the first resource of the README.
samples() {
  local operator file
  readme="$(mktemp)"
  trap 'rm -f "$readme"' EXIT
  awk '/^```/ { if (inside) exit; inside = /^```yaml/; next } inside' README.md >"$readme"
  for file in "$readme" deploy/samples/*/*.yaml; do
    operator="$(sed -n 's/^apiVersion: \([a-z]*\)\.ballast\.dev.*/\1/p' "$file" | head -n 1)"
    cargo build --locked --package "$operator-operator" --bin "$operator-operator"
    "$CARGO_TARGET_DIR/debug/$operator-operator" validate "$file"
  done
}

# One TLS stack, one copy of what must be one, one source of crates.
dependencies() {
  local name status=0
  for name in aws-lc-rs aws-lc-sys openssl openssl-sys native-tls serde_yaml; do
    if grep -qx "name = \"$name\"" Cargo.lock; then
      echo "$name must not be a dependency; see: cargo tree --invert $name" >&2
      status=1
    fi
  done
  for name in kube k8s-openapi rustls schemars jiff; do
    if [ "$(grep -cx "name = \"$name\"" Cargo.lock)" -ne 1 ]; then
      echo "there must be exactly one version of $name; see: cargo tree --invert $name" >&2
      status=1
    fi
  done
  if [ "$(sed -n 's/^source = "\([^#"]*\).*/\1/p' Cargo.lock | sort -u | wc -l)" -gt 1 ]; then
    echo "every dependency must come from the one registry, none from git: see source in Cargo.lock" >&2
    status=1
  fi
  return "$status"
}

# Every licence expression in use has been looked at by a person: scripts/licences.txt.
licences() {
  local tree new
  tree="$(cargo tree --locked --workspace --edges normal,build --target all --prefix none --format '{l}|{p}')"
  new="$(grep -v '^$' <<<"$tree" | sort -u | grep -vFf <(grep -v '^#' scripts/licences.txt | sed 's/$/|/') || true)"
  if [ -n "$new" ]; then
    printf 'licences that are not in scripts/licences.txt (add them if they are compatible with Apache-2.0):\n%s\n' "$new" >&2
    return 1
  fi
}

# Lines per file and per function: told, and a failure only beyond 800.
sizes() { files '*.rs' | xargs awk -f scripts/sizes.awk; }

links() { files '*.md' | xargs perl scripts/links.pl; }

# Every reason and every predicate that people can meet has its line in the operator's runbook.
runbooks() {
  local core operator word missing=()
  for core in operators/*/core/src; do
    operator="$(basename "$(dirname "$(dirname "$core")")")"
    for word in $(
      # Without the tests, which stand at the end of a file or in files of their own.
      for file in "$core"/plan/*.rs "$core"/plan.rs "$core"/intent.rs "$core"/status.rs shared/core/src/{plan,condition}.rs; do
        case "$file" in *tests*) continue ;; esac
        [ -e "$file" ] && sed '/#\[cfg(test)\]/,$d' "$file"
      done | grep -oE '"([A-Z][a-z]+)+"|"[a-z]+(-[a-z]+)+"' | tr -d '"' | sort -u
    ); do
      # What stands in such literals without being a reason: states of members, of claims and of containers.
      case "$word" in
        True | False | Leader | Follower | Learner | None | Serving | NotServing | Unknown | Lost | Bound | Image | CreateContainer* | Voter | Observer | Active | Fenced | Unregistered) ;;
        *) grep -qE "(\`|^### )$word(\`|$)" "docs/runbooks/$operator.md" || missing+=("$operator: $word") ;;
      esac
    done
  done
  # Every alert has its section, and every section its alert.
  for word in $(
    diff <(cat charts/*/files/alerts.yaml | sed -n 's/^ *- alert: //p' | sort) \
      <(sed -n 's/^## //p' docs/runbooks/alerts.md | sort) | sed -n 's/^\([<>]\) /\1/p'
  ); do
    case "$word" in
      '<'*) missing+=("alerts.md: ${word#<}") ;;
      '>'*) missing+=("alerts.md has ${word#>}, which is no alert") ;;
    esac
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    printf 'not in docs/runbooks: %s\n' "${missing[@]}" >&2
    return 1
  fi
}

# Where things are on the machine of whoever wrote it does not belong here.
paths() {
  if git grep -nE '(^|[^A-Za-z0-9_.$}/-])/(work|home/[a-z]+)/' -- . ':!Cargo.lock' ':!scripts/check.sh'; then
    echo "paths of a private machine" >&2
    return 1
  fi
}

all=(format sizes links runbooks paths dependencies licences purity lints charts generated kustomize samples)
[ "$#" -gt 0 ] || set -- "${all[@]}"
for check in "$@"; do
  step "check $check" "$check"
done
