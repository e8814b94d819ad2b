#!/usr/bin/env bash
# The lease servers of a store become two, four and one again, under writers that hold a lease each.
#
#   reshard.sh [PROCESSES WRITERS [SECONDS]]    2 processes of 500 writers, 20 s between changes
#
# No writer may lose its lease, each line must be there once, and audit must find nothing. Needs a
# build (mvn package). Exit code 0 if all of that is so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
processes=${1:-2}; writers=${2:-500}; seconds=${3:-20}
cinch=${CINCH:-$here/../../cli/bin/cinch}
classes=${CINCH_CLASSES:-$here/../target/classes:$here/../../cli/target/cinch.jar}
work=$(mktemp -d)
export CINCH_STORE=$work/store CINCH_JAVA_OPTS="${CINCH_JAVA_OPTS:--Xmx256m}"
running=() orders=() pids=()
cleanup() { for p in "${running[@]}"; do kill -9 "$p" 2>/dev/null || true; done; }
trap cleanup EXIT
say() { echo "$(date -u +%T) $*"; }

"$cinch" init --key "$work/cinch.key" "$CINCH_STORE" >"$work/init.log" 2>&1
"$cinch" log create lines

share() { # count: starts its servers, then publishes the map
  local count=$1 shard started=()
  for shard in $(seq "$count"); do
    (
      for fd in "${orders[@]}"; do exec {fd}>&-; done # or the writers' input would not end
      exec "$cinch" serve --key "$work/cinch.key" --port 0 --connections 4000 --connections-per-address 4000 \
        --shard "$shard/$count" >"$work/serve-$count-$shard.log" 2>&1 </dev/null
    ) &
    running+=($!); started[shard]=$!
  done
  for shard in $(seq "$count"); do
    until grep -qs '^has shard' "$work/serve-$count-$shard.log"; do
      kill -0 "${started[shard]}" || { cat "$work"/serve-"$count"-*.log; exit 1; }
      sleep 0.2
    done
  done
  "$cinch" shards set "$count" --key "$work/cinch.key" >/dev/null
  say "$count servers"
}

share 2
server=$(sed -n 's/^listening on //p' "$work/serve-2-1.log")
for p in $(seq "$processes"); do
  mkfifo "$work/orders-$p"
  java -Xmx384m -cp "$classes" dev.cinch.examples.ManyWriters "$CINCH_STORE" "$server" lines "p$p" "$writers" \
    <"$work/orders-$p" >"$work/writers-$p.out" 2>"$work/writers-$p.err" &
  pids[p]=$!; running+=($!)
  exec {fd}>"$work/orders-$p"; orders[p]=$fd
done
for p in $(seq "$processes"); do
  until grep -qs '^HOLDING' "$work/writers-$p.out"; do
    kill -0 "${pids[p]}" || { cat "$work/writers-$p.err"; exit 1; }
    sleep 0.5
  done
done
say "$((processes * writers)) writers hold a lease each"
sleep "$seconds"
share 4
sleep "$((seconds * 2))"
share 1
sleep "$((seconds * 2))"
code=0
for p in $(seq "$processes"); do fd=${orders[p]}; exec {fd}>&-; done
for p in $(seq "$processes"); do
  wait "${pids[p]}" || { code=1; say "process $p:"; head -5 "$work/writers-$p.err"; }
done
say "the writers have ended"
sleep 5
"$cinch" close --trust-clock >"$work/close.log" 2>&1
"$cinch" cat --log lines | sort >"$work/found"
grep -hv HOLDING "$work"/writers-*.out | awk '{ for (i = 0; i < $2; i++) print $1, i }' | sort >"$work/expected"
if ! cmp -s "$work/found" "$work/expected"; then
  code=1; say "lines differ:"; diff "$work/found" "$work/expected" | head -5
fi
say "$(wc -l <"$work/found") lines, $(ls "$CINCH_STORE/service/ends" | wc -l) resumes, each line once: $([ $code = 0 ] && echo yes || echo no)"
"$cinch" audit || code=1
[ $code = 0 ] && rm -rf "$work" || say "the files are in $work"
exit $code
