#!/usr/bin/env bash
# An append --resume that is killed ten times at random, and restarted each time: then the log is the input, byte for byte.
#
#   examples/resume.sh [LINES] [KILLS]    3,000,000 and 10 unless said; CINCH names the cinch to run
set -euo pipefail
lines=${1:-3000000} kills=${2:-10}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cinch=${CINCH:-$root/cli/bin/cinch}
work=$(mktemp -d "${TMPDIR:-/tmp}/cinch-resume.XXXXXX")
export CINCH_STORE=$work/store
served='' appending=''
end() {
  [ -z "$appending" ] || kill -9 "$appending" 2>/dev/null || true
  [ -z "$served" ] || kill "$served" 2>/dev/null || true
  wait 2>/dev/null || true
  chmod -R u+w "$work" && rm -rf "$work"
}
trap end EXIT
seconds() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

"$cinch" init --key "$work/key" "$CINCH_STORE" >"$work/init" 2>&1
"$cinch" serve --key "$work/key" --store "$CINCH_STORE" --port 0 >"$work/serve" 2>&1 &
served=$!
until grep -qo 'http://[^ ]*' "$work/serve" 2>/dev/null; do
  kill -0 "$served" || { cat "$work/serve" >&2; exit 4; }
  sleep 0.1
done
CINCH_SERVER=$(grep -o 'http://[^ ,;]*' "$work/serve" | head -n 1)
export CINCH_SERVER
seq -f 'line %.0f of a job that is killed now and then' "$lines" >"$work/input"
echo "$(wc -l <"$work/input") lines, $(($(wc -c <"$work/input") >> 20)) MiB"

# How long it takes without all that, for comparison.
begun=$EPOCHREALTIME
"$cinch" append --log plain --lease plain "$work/input" 2>"$work/said"
plain=$(seconds "$begun")
begun=$EPOCHREALTIME
"$cinch" append --log whole --lease whole --resume "$work/input" 2>"$work/said"
echo "append: $plain s; append --resume, from the start: $(seconds "$begun") s"

# Bytes that a log has in data files, which nobody removes here.
size() { echo $(($(du -sb --exclude=lock "$CINCH_STORE/logs/$1/buckets" 2>/dev/null | cut -f 1))); }

job() { exec "$cinch" append --log jobs --lease job/1 --lease-for 5s --wait 1m --resume "$work/input" 2>"$work/said"; }
for ((i = 1; i <= kills; i++)); do
  job &
  appending=$!
  # Some are killed while they wait for the lease of the one before, the others when their log has grown to some size.
  if ((i > 1 && RANDOM % 5 == 0)); then
    sleep $((1 + RANDOM % 9))
  else
    goal=$(awk -v r="$RANDOM" -v all="$(size whole)" -v n="$kills" -v i="$i" 'BEGIN { printf "%d", all * (i - 1 + r / 32768) / n }')
    while (($(size jobs) < goal)) && kill -0 "$appending" 2>/dev/null; do sleep 0.02; done
  fi
  kill -9 "$appending" 2>/dev/null || true
  wait "$appending" 2>/dev/null || true
  appending=''
  echo "killed: $("$cinch" cat --live --log jobs 2>/dev/null | wc -l) lines are in the log"
done
begun=$EPOCHREALTIME
job &
appending=$!
wait "$appending"
appending=''
echo "the last of $((kills + 1)) starts: $(seconds "$begun") s, $(cut -d ' ' -f 3- "$work/said" | tail -n 1)"

until "$cinch" close --now --trust-clock >/dev/null && [ "$("$cinch" cat --log jobs | wc -l)" -ge "$lines" ]; do sleep 1; done
begun=$EPOCHREALTIME
"$cinch" cat --log jobs >"$work/output"
echo "cat: $(seconds "$begun") s"
begun=$EPOCHREALTIME
job &
appending=$!
wait "$appending"
appending=''
echo "once more, with nothing to append: $(seconds "$begun") s, $(cut -d ' ' -f 3- "$work/said" | tail -n 1)"
cmp "$work/input" "$work/output"
"$cinch" audit >/dev/null
echo "the log is the input, byte for byte"
