#!/usr/bin/env bash
# Three nodes keep the leases of a store, here; one is killed under load, and nobody notices.
#
#   examples/cell.sh [ALGORITHM [WRITERS [SECONDS]]]    paxoslease, 60 writers, 10 s before and after
#
# Each writer holds a lease and writes lines. After the kill all of them have to hold theirs still,
# newcomers get leases, each line is there once, and audit finds nothing. Builds Cinch first if
# there is no build. Exit code 0 if all of that is so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
algorithm=${1:-paxoslease}; writers=${2:-60}; seconds=${3:-10}
case $algorithm in
  paxoslease | flease) ;;
  *) echo "cell: the algorithm is paxoslease or flease, not $algorithm" >&2; exit 2 ;;
esac
for number in "$writers" "$seconds"; do
  case $number in
    '' | *[!0-9]* | 0*) echo "cell: $number is no number of writers or seconds" >&2; exit 2 ;;
  esac
done
for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "cell: $tool is needed (a JDK 17 and Maven)" >&2; exit 4; }
done
jars=$root/cli/target/cinch.jar:$root/examples/target/cinch-examples-0.1.0.jar
if [ ! -f "${jars%%:*}" ] || [ ! -f "${jars##*:}" ]; then
  echo "building Cinch, once"
  log=$(mktemp "${TMPDIR:-/tmp}/cinch-build.XXXXXX")
  (cd "$root" && mvn -B -Dquick package >"$log" 2>&1 </dev/null) || { echo "cell: the build failed; its output is in $log" >&2; exit 4; }
  rm -f "$log"
fi

cinch=$root/cli/bin/cinch
work=$(mktemp -d "${TMPDIR:-/tmp}/cinch-cell.XXXXXX")
export CINCH_STORE=$work/store CINCH_JAVA_OPTS="${CINCH_JAVA_OPTS:--Xmx256m}"
node=() load=
stop() { for p in "${node[@]}" $load; do kill -9 "$p" 2>/dev/null || true; done; }
trap stop EXIT
trap 'exit 130' INT TERM
say() { echo "$(date -u +%T) $*"; }
free_ports() { # six of them, in a row
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
"$cinch" init --key cinch.key "$CINCH_STORE" >init.log 2>&1
"$cinch" log create lines >>init.log
read -r u1 u2 u3 h1 h2 h3 <<<"$(free_ports)"
"$cinch" cell init cell.json --algorithm "$algorithm" --node 127.0.0.1:"$u1"=http://127.0.0.1:"$h1" \
  --node 127.0.0.1:"$u2"=http://127.0.0.1:"$h2" --node 127.0.0.1:"$u3"=http://127.0.0.1:"$h3" >>init.log

export CINCH_SERVER=http://127.0.0.1:$h1,http://127.0.0.1:$h2,http://127.0.0.1:$h3

start() { # id [--first]
  "$cinch" serve --backend "$algorithm" --cell cell.json --node "$1" "${@:2}" >"node-$1.log" 2>&1 </dev/null 3>&- & # or the writers' input would not end
  node[$1]=$!
  until grep -qs '^listening on' "node-$1.log"; do
    kill -0 "${node[$1]}" 2>/dev/null || { cat "node-$1.log" >&2; exit 1; }
    sleep 0.1
  done
}
for id in 1 2 3; do start "$id" --first; done
say "three nodes keep the leases of $CINCH_STORE by $algorithm"
"$cinch" cell status cell.json

mkfifo orders
java -Xmx256m -cp "$jars" dev.cinch.examples.ManyWriters "$CINCH_STORE" "$CINCH_SERVER" \
  lines w "$writers" <orders >writers.out 2>writers.err &
load=$!
exec 3>orders
until grep -qs '^HOLDING' writers.out; do
  kill -0 "$load" 2>/dev/null || { cat writers.err >&2; exit 1; }
  sleep 0.1
done
say "$writers writers hold a lease each"
sleep "$seconds"
kill -9 "${node[1]}"
wait "${node[1]}" 2>/dev/null || true
say "node 1 is killed, which the writers used"
"$cinch" lease run newcomer -- echo "a newcomer got a lease"
sleep "$seconds"
"$cinch" cell status cell.json
start 1
say "node 1 is back, and votes once a lease that it forgot can't be held any more"
exec 3>&-
code=0
wait "$load" || { code=1; say "the writers complain:"; head -5 writers.err; }
load=
sleep 5 # until the last bucket can be closed
"$cinch" close --trust-clock >close.log 2>&1
"$cinch" cat --log lines | sort >found
grep -v HOLDING writers.out | awk '{ for (i = 0; i < $2; i++) print $1, i }' | sort >expected
if ! cmp -s found expected; then
  code=1; say "lines differ:"; diff found expected | head -5
fi
say "$(wc -l <found) lines by $writers writers, each once: $([ $code = 0 ] && echo yes || echo no); leases lost: $(grep -c 'lost its lease' writers.err || true)"
"$cinch" audit || code=1
if [ $code = 0 ]; then
  cd "$root"; chmod -R u+w "$work"; rm -rf "$work"
else
  echo "the files are in $work"
fi
exit $code
