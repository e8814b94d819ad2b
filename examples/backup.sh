#!/usr/bin/env bash
# Backups at random moments under load, most of them killed: each is restored, and has then a piece of the log, in order.
#
#   examples/backup.sh [BACKUPS]    200 unless said; CINCH names the cinch to run
#
# Two writers, a job that goes on by append --resume, a closer, view build, gc and expire work meanwhile. Of five, three
# backups are killed and one ends by itself. The fifth is a copy of another tool, its directories in any order, that
# close --restored mends. Each tenth is verified, served and appended to: the job goes on there without a line lost or
# doubled.
set -euo pipefail
backups=${1:-200}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cinch=${CINCH:-$root/cli/bin/cinch}
work=$(mktemp -d "${TMPDIR:-/tmp}/cinch-backup.XXXXXX")
cd "$work"
store=$work/store
killed=0 ended=0 mended=0 refused=0 resumed=0 begun=$SECONDS
served='' load=()
end() {
  local code=$?
  touch stop
  for pid in "${load[@]}" $served; do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  [ "$code" -ne 0 ] && { echo "backup: left in $work" >&2; exit "$code"; }
  chmod -R u+w "$work" && rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM
fail() { echo "backup $n: $*" >&2; exit 1; }
run() { "$cinch" "$@" >out 2>err </dev/null || fail "cinch $* ended with $?: $(cat err out | head -c 2000)"; }
serve() { # a store, in place of whoever serves it; server and address say which
  : >"$1.served"
  "$cinch" serve --key key --store "$1" --port 0 --replace --longest-lease 4s >"$1.served" 2>&1 </dev/null &
  server=$!
  until address=$(sed -n 's/^listening on //p' "$1.served") && [ -n "$address" ]; do
    kill -0 "$server" || fail "no server: $(cat "$1.served")"
    sleep 0.1
  done
}
# The first lines of the job's input, which grows.
job() { head -n $((n * 50)) input | "$cinch" append --log jobs --lease job/1 --lease-for 4s --wait 1m --resume --complete "$@" 2>err >out ||
  fail "append --resume $* ended with $?: $(cat err)"; }
# As much of standard input, which begins as got does, as got has.
whole() { head -n "$(wc -l <got)"; }
# What got has. Another tool copies files one after the other: one that it copied later may have a line that was written
# after one that is missing in the first. What was settled before it began is there, whole.
copied() {
  awk -v settled="$((settled - from + 1))" 'NR == FNR { got[$0]; next } FNR <= settled || $0 in got' got -
}
# What a store has of the two writers is a piece of all that there is, without a hole and in order.
piece() { # STORE whole|copied
  run cat --store "$1" --log lines
  mv out got
  [ -s got ] || return 0
  local from
  for ((wait = 0; wait < 300; wait++)); do # what is followed may be behind by a moment
    from=$(grep -nxF -m 1 "$(head -n 1 got)" all | cut -d : -f 1 || true)
    [ -n "$from" ] && tail -n "+$from" all | "$2" | cmp -s - got && return 0
    sleep 0.1
  done
  diff <(tail -n "+${from:-1}" all | "$2") got | head -n 20 >&2 || true
  fail "$1 has other lines than were settled"
}

n=0
"$cinch" init --key key --bucket-width 200ms --clock-ahead 200ms --clock-behind 200ms --timestamp-distance 200ms \
  --slow-append 300ms --grace 1s "$store" >out 2>&1
run log create --store "$store" lines
run log create --store "$store" jobs
seq -f 'line %.0f of a job' $((backups * 50 + 50)) >input
serve "$store"
served=$server at=$address
"$cinch" cat --follow --store "$store" --log lines >all 2>followed &
load+=($!)
for w in 1 2; do
  (i=0; while [ ! -e stop ]; do echo "$w $((++i))"; sleep 0.02; done) | "$cinch" append --store "$store" --log lines 2>said.$w &
  load+=($!)
done
"$cinch" close --store "$store" --every 500ms --server "$at" >closed 2>&1 &
load+=($!)
while [ ! -e stop ]; do
  "$cinch" view build --wait 0s --store "$store" && "$cinch" gc --retention 0s --store "$store" &&
    "$cinch" expire --keep 60s --log lines --store "$store" || true
  sleep 2
done >cleaned 2>&1 &
load+=($!)
sleep 3

for ((n = 1; n <= backups; n++)); do
  job --store "$store" --server "$at"
  rm -rf copy
  if ((n % 5 == 1)); then # another tool's, in any order
    mkdir copy
    settled=$(wc -l <all)
    while read -r name; do cp -a "$store/$name" copy/ 2>/dev/null || true; done < <(ls "$store" | shuf)
    code=0
    "$cinch" close --restored --store copy >out 2>err </dev/null || code=$?
    if [ "$code" -eq 1 ] && grep -q 'cinch salvage' err; then # gc ran meanwhile
      refused=$((refused + 1))
      continue
    fi
    [ "$code" -eq 0 ] || fail "close --restored ended with $code: $(cat err)"
    run verify --store copy
    piece copy copied
    mended=$((mended + 1))
    continue
  fi
  if ((n % 5 == 0)); then
    run backup --store "$store" backup
    ended=$((ended + 1))
  else
    "$cinch" backup --store "$store" backup >out 2>err &
    pid=$!
    sleep "0.$((RANDOM % 90 + 10))"
    kill -9 "$pid" 2>/dev/null && killed=$((killed + 1))
    wait "$pid" 2>/dev/null || true
  fi
  [ -e backup/store.json ] || continue # the first one was killed
  cp -a backup copy
  run backup --restore copy
  piece copy whole
  if ((n % 10 == 0)); then
    run verify --store copy
    serve "$work/copy"
    job --store copy --server "$address" --settle
    run cat --store copy --log jobs
    head -n $((n * 50)) input | cmp - out || fail "the job in the copy is not its input"
    echo more >more
    run append --store copy --log lines --settle more
    last=$("$cinch" cat --store copy --log lines --tail 1)
    [ "$last" = more ] || fail "the copy ends with $last"
    kill "$server"
    wait "$server" || true
    resumed=$((resumed + 1))
  fi
done
echo "backup: $backups in $((SECONDS - begun)) s: $killed killed, $ended to the end, $mended copies mended, $refused refused; $resumed served and resumed; $(wc -l <all) lines"
