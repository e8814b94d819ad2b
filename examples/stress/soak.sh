#!/usr/bin/env bash
# A lease server with a heap of 128 MB, under mixed load for a long time: its memory, threads and descriptors must stay
# what they are, no lease may be granted to two, and SIGTERM must end it in order. Usage:
#
#   soak.sh [MINUTES [STEPS_A_SECOND]]    30 minutes of 80 steps a second
#
# Flat is what has in the last third at most the median of the second third, a twentieth more and a constant:
# 1 MiB of live objects after a full collection, 2 threads, 8 descriptors, 4 files. Needs a build (mvn package).
# Exit code 0 if all of that is so.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
minutes=${1:-30}
rate=${2:-80}
cinch=${CINCH:-$root/cli/bin/cinch}
classes=${CINCH_CLASSES:-$root/cli/target/cinch.jar:$root/lease-service/target/test-classes}
[ -n "${CINCH_CLASSES:-}" ] || [ -d "$root/lease-service/target/test-classes/dev/cinch/lease/soak" ] || {
  echo "soak: build it first: mvn -Dquick package test-compile" >&2
  exit 2
}
work=$(mktemp -d)
server=
cleanup() { [ -z "$server" ] || kill -9 "$server" 2>/dev/null || :; }
trap cleanup EXIT

"$cinch" init --key "$work/cinch.key" "$work/store" >"$work/init.log" 2>&1
CINCH_JAVA_OPTS="-Xmx128m ${CINCH_JAVA_OPTS:-}" "$cinch" serve --store "$work/store" --key "$work/cinch.key" --port 0 \
  >"$work/serve.log" 2>"$work/serve.err" </dev/null &
server=$!
until grep -qs '^listening on ' "$work/serve.log"; do
  kill -0 "$server" || { cat "$work/serve.err" >&2; exit 1; }
  sleep 0.1
done
address=$(sed -n 's/^listening on //p' "$work/serve.log")

code=0
# It ends the server by SIGTERM.
java -Xmx128m -cp "$classes" dev.cinch.lease.soak.Soak "$address" "$server" "$work/store/service" \
  "$work" "$minutes" "$rate" 2>"$work/load.err" || code=1
[ "$code" = 0 ] || kill -9 "$server" 2>/dev/null || :
ended=0
wait "$server" || ended=$?
server=
# Of launchers that Java ends by the signal: 143.
if [ "$ended" != 0 ] && [ "$ended" != 143 ]; then
  code=1
  echo "FAILED: SIGTERM ended the server with exit code $ended"
fi
if [ -s "$work/serve.err" ]; then
  echo "the server said:"
  head -20 "$work/serve.err"
fi
if [ "$code" = 0 ]; then
  echo "soak: all is well after $minutes min"
  rm -rf "$work"
else
  echo "soak: FAILED; the files are in $work"
fi
exit "$code"
