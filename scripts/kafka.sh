#!/usr/bin/env bash
# Fetches Apache Kafka's servers and tools, as jars, with Maven. kafka.sh VERSION…: into $BALLAST_CACHE/tools/kafka-VERSION/lib.
# What is there already is left alone, unless the list of what belongs to it has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

pom=deploy/images/kafka/pom.xml

[ "$#" -gt 0 ] || { echo "usage: kafka.sh VERSION…, as 4.4.0" >&2; exit 2; }

fetch() {
  local version="$1" folder="$2"
  # Not local: the trap runs when the function is gone.
  fresh="$(mktemp -d "$BALLAST_CACHE/tools/.kafka-$version.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  mvn --quiet --batch-mode -Dstyle.color=never --file "$pom" -Dkafka.version="$version" \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$fresh/lib" || {
    echo "Maven cannot fetch Kafka $version: is there such a version, and can its repository be reached?" >&2
    return 1
  }
  [ -e "$fresh/lib/kafka_2.13-$version.jar" ] || { echo "Maven has fetched no kafka_2.13-$version.jar" >&2; return 1; }
  cp "$pom" "$fresh/pom.xml"
  chmod 755 "$fresh"
  # In one step, so that nobody sees half of it.
  rm -rf "$folder"
  mv --no-target-directory "$fresh" "$folder"
}

mkdir -p "$BALLAST_CACHE/tools"
# One at a time: several tests may ask for the same version.
exec 9>"$BALLAST_CACHE/tools/.kafka.lock"
flock 9

for version in "$@"; do
  [[ "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "kafka.sh: $version is no version, as 4.4.0 is" >&2; exit 2; }
  folder="$BALLAST_CACHE/tools/kafka-$version"
  cmp --silent "$pom" "$folder/pom.xml" || step "fetch Kafka $version" fetch "$version" "$folder"
done
