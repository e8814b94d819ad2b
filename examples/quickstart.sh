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
# Without tests and static checks. A line for each step tells that it goes on.
build() {
  echo "building Cinch, once"
  local log line downloads=0 begun=$SECONDS
  step() { printf '  %3d s  %s\n' $((SECONDS - begun)) "$*"; }
  log=$(mktemp "${TMPDIR:-/tmp}/cinch-build.XXXXXX")
  if ! (cd "$root" && mvn -B -Dquick package 2>&1 </dev/null) | tee "$log" | while read -r line; do
    case $line in # [INFO] --- maven-compiler-plugin:3.14.0:compile (default-compile) @ cinch-bagstore ---
      *" --- "*":compile "*" @ "*) line=${line##* @ } && step "compiling ${line%% *}" ;;
      *" --- "*":shade "*) step "putting the jar together" ;;
      *"Downloading from"*) [ $((downloads++ % 20)) -ne 0 ] || step "downloading what it depends on" ;;
    esac
  done; then
    echo "quickstart: the build failed; its output is in $log" >&2
    exit 4
  fi
  rm -f "$log"
}
if stale; then build; fi

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
