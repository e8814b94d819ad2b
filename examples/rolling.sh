#!/usr/bin/env bash
# Restarts the three nodes of a cell one after the other under load: service never stops.
#
#   examples/rolling.sh [ALGORITHM [WRITERS]]    paxoslease, 20 writers
#
# Writers hold a lease each and write lines. Newcomers take leases and give them back all the time.
# No writer may lose its lease, no newcomer may fail, each line is there once, and audit finds
# nothing. Builds Cinch first if there is no build. Exit code 0 if all of that is so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
algorithm=${1:-paxoslease}; writers=${2:-20}
longest=10 # seconds that a lease lasts at most, and that a node is silent after a start
case $algorithm in
  paxoslease | flease) ;;
  *) echo "rolling: the algorithm is paxoslease or flease, not $algorithm" >&2; exit 2 ;;
esac
case $writers in
  '' | *[!0-9]* | 0*) echo "rolling: $writers is no number of writers" >&2; exit 2 ;;
esac
for tool in java mvn python3; do
  command -v "$tool" >/dev/null || { echo "rolling: $tool is needed (a JDK 17, Maven and Python)" >&2; exit 4; }
done
jars=$root/cli/target/cinch.jar:$root/examples/target/cinch-examples-0.1.0.jar
if [ ! -f "${jars%%:*}" ] || [ ! -f "${jars##*:}" ]; then
  echo "building Cinch, once"
  log=$(mktemp "${TMPDIR:-/tmp}/cinch-build.XXXXXX")
  (cd "$root" && mvn -B -Dquick package >"$log" 2>&1 </dev/null) || { echo "rolling: the build failed; its output is in $log" >&2; exit 4; }
  rm -f "$log"
fi

cinch=$root/cli/bin/cinch
work=$(mktemp -d "${TMPDIR:-/tmp}/cinch-rolling.XXXXXX")
export CINCH_STORE=$work/store CINCH_JAVA_OPTS="${CINCH_JAVA_OPTS:--Xmx256m}"
node=() load=()
stop() { for p in "${node[@]}" "${load[@]}"; do kill -9 "$p" 2>/dev/null || true; done; }
trap stop EXIT
trap 'exit 130' INT TERM
say() { echo "$(date -u +%T) $*"; }
free_ports() { # six of them
  python3 - <<'P'
import socket
held = []
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    for _ in range(3):
        s = socket.socket(socket.AF_INET, kind)
        s.bind(("127.0.0.1", 0))
        held.append(s)
print(*(s.getsockname()[1] for s in held))
P
}

cd "$work"
# Buckets that are settled within the leases of this demonstration, on one machine with one clock.
"$cinch" init --key cinch.key --leases required --bucket-width 500ms --grace 1s --clock-ahead 200ms \
  --clock-behind 200ms --timestamp-distance 100ms --slow-append 500ms "$CINCH_STORE" >init.log 2>&1
"$cinch" log create lines >>init.log
read -r u1 u2 u3 h1 h2 h3 <<<"$(free_ports)"
"$cinch" cell init cell.json --algorithm "$algorithm" --longest-lease ${longest}s \
  --node 127.0.0.1:"$u1"=http://127.0.0.1:"$h1" --node 127.0.0.1:"$u2"=http://127.0.0.1:"$h2" \
  --node 127.0.0.1:"$u3"=http://127.0.0.1:"$h3" >>init.log
export CINCH_SERVER=http://127.0.0.1:$h1,http://127.0.0.1:$h2,http://127.0.0.1:$h3

start() { # id [--first]
  "$cinch" serve --backend "$algorithm" --cell cell.json --node "$1" "${@:2}" >"node-$1.log" 2>&1 </dev/null 4>&- 5>&- & # or the load's input would not end
  node[$1]=$!
  until grep -qs '^listening on' "node-$1.log"; do
    kill -0 "${node[$1]}" 2>/dev/null || { cat "node-$1.log" >&2; exit 1; }
    sleep 0.1
  done
}
for id in 1 2 3; do start "$id" --first; done

mkfifo writers.in newcomers.in
java -Xmx256m -cp "$jars" dev.cinch.examples.ManyWriters "$CINCH_STORE" "$CINCH_SERVER" \
  lines w "$writers" $longest <writers.in >writers.out 2>writers.err &
load[0]=$!
java -Xmx128m -cp "$jars" dev.cinch.examples.Newcomers "$CINCH_SERVER" <newcomers.in >newcomers.out 2>newcomers.err &
load[1]=$!
exec 4>writers.in 5>newcomers.in
until grep -qs '^HOLDING' writers.out; do
  kill -0 "${load[0]}" 2>/dev/null || { cat writers.err >&2; exit 1; }
  sleep 0.1
done
say "three nodes serve $CINCH_STORE by $algorithm: $writers writers hold leases of $longest s, others come and go"

for id in 1 2 3; do
  kill "${node[$id]}"
  code=0
  wait "${node[$id]}" || code=$?
  [ $code = 0 ] || { cat "node-$id.log" >&2; exit 1; }
  start "$id"
  "$cinch" cell status cell.json --wait 2m >status.out || { cat status.out >&2; exit 1; }
  say "node $id ended, was started again, and votes"
done

exec 4>&- 5>&-
code=0
wait "${load[1]}" || { code=1; say "newcomers complain:"; grep -v SLF4J newcomers.err | head -5; }
wait "${load[0]}" || { code=1; say "the writers complain:"; grep -v SLF4J writers.err | head -5; }
load=()
sleep 2 # until the last bucket can be closed
"$cinch" close --trust-clock >close.log 2>&1
"$cinch" cat --log lines | sort >found
grep -v HOLDING writers.out | awk '{ for (i = 0; i < $2; i++) print $1, i }' | sort >expected
once=yes
if ! cmp -s found expected; then
  code=1; once=no; say "lines differ:"; diff found expected | head -5 || true
fi
say "$(wc -l <found) lines by $writers writers, each once: $once; leases lost: $(grep -c 'lost its lease' writers.err || true)"
say "$(cat newcomers.out)"
"$cinch" audit || code=1
if [ $code = 0 ]; then
  cd "$root"; chmod -R u+w "$work"; rm -rf "$work"
else
  echo "the files are in $work"
fi
exit $code
