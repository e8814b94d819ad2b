#!/usr/bin/env bash
# The main job of Cinch on real processes; see README.md. Usage: examples/quickstart.sh [FILE...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")

for f in "$@"; do
  [ -r "$f" ] && [ -f "$f" ] || { echo "quickstart: $f: no file that can be read" >&2; exit 2; }
done
for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "quickstart: $tool is needed (a JDK 17 and Maven)" >&2; exit 4; }
done

jars=("$root/cli/target/cinch.jar" "$root/examples/target/cinch-examples-0.1.0.jar")
stale() {
  for jar in "${jars[@]}"; do
    [ -f "$jar" ] || return 0
    [ -z "$(find "$root"/*/src/main "$root"/pom.xml "$root"/*/pom.xml -newer "$jar" -print -quit)" ] || return 0
  done
  return 1
}
if stale; then
  echo "building Cinch…"
  (cd "$root" && mvn -B -q -DskipTests package)
fi

if [ $# -eq 0 ]; then set -- "$here/sample.log"; fi
work=$(mktemp -d "${TMPDIR:-/tmp}/cinch-quickstart.XXXXXX")
code=0
java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "${jars[0]}:${jars[1]}" \
  dev.cinch.examples.Quickstart "$work" "$@" || code=$?
if [ "$code" -eq 0 ] && [ -z "${CINCH_KEEP:-}" ]; then
  chmod -R u+w "$work" && rm -rf "$work"
else
  echo "the store is kept in $work/store"
fi
exit "$code"
