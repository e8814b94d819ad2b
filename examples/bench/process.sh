#!/usr/bin/env bash
# Whole processes of Cinch beside public tools, in turns in one run. Usage: process.sh [DIRECTORY] [ROUNDS]
# CINCH_BENCH_LINES: how many lines (2,000,000); CINCH_BENCH_FILES: how many writers and files (16).
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cinch=$here/../../cli/bin/cinch
parent=${1:-/dev/shm}
rounds=${2:-5}
lines=${CINCH_BENCH_LINES:-2000000}
files=${CINCH_BENCH_FILES:-16}
work=$(mktemp -d "$parent/process-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
# These bounds hold between processes of one machine; with them what was appended can be closed after seconds.
quick=(--bucket-width=5s --clock-ahead=200ms --clock-behind=200ms --timestamp-distance=100ms --slow-append=1s --grace=2s)

now() { echo "${EPOCHREALTIME/,/.}"; }

# measure NAME COMMAND...: one more time in seconds for that name; a command that fails ends everything.
measure() {
  local name=$1 began ended
  shift
  began=$(now)
  "$@"
  ended=$(now)
  [ "$round" -eq 0 ] || awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.6f\n", b - a }' >>"$work/times.$name"
}

median() { sort -g "$work/times.$1" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }

# row WHAT NAME BASELINE NAME LINES: medians, as lines a second where there are lines, and Cinch's share of the other's rate.
row() {
  awk -v what="$1" -v a="$(median "$2")" -v other="$3" -v b="$(median "$4")" -v n="$5" 'BEGIN {
    if (n > 0) printf "%-34s %12.0f lines/s   %-34s %12.0f lines/s   rate ratio %.2f\n", what, n / a, other, n / b, b / a
    else printf "%-34s %14.3f s       %-34s %14.3f s       time ratio %.2f\n", what, a, other, b, a / b
  }'
}

append_pipe() { cat "$work/lines" | "$cinch" append --store "$1" --log bench --durability close; }
copy_pipe() { cat "$work/lines" | cat >"$1"; }
cat_pipe() { "$cinch" cat --store "$work/store" --log bench | cat >/dev/null; }
sort_pipe() { sort -m "$work"/share.* | cat >/dev/null; }
version() { "$cinch" --version >/dev/null; }
java_version() { "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>/dev/null; }

echo "$lines lines in $files files, $rounds rounds, in $parent"
round=0
version # builds it, and its archive of loaded classes, where that has not been done
seq -f '%012.0f some words of a message that is about a hundred bytes long, and then a few more words' "$lines" >"$work/lines"
(cd "$work" && split -n "r/$files" -a 4 lines share.)

# A settled store that every share was appended to by a writer of its own, all at once.
"$cinch" init "${quick[@]}" "$work/store" >/dev/null
writers=()
for share in "$work"/share.*; do
  "$cinch" append --store "$work/store" --log bench --machine "m${share##*.}" --durability close <"$share" &
  writers+=($!)
done
for writer in "${writers[@]}"; do wait "$writer"; done
end=$(date -u +%Y-%m-%dT%H:%M:%SZ -d '+1 second')
until "$cinch" close --store "$work/store" --through "$end" >/dev/null 2>&1; do sleep 1; done
cmp <("$cinch" cat --store "$work/store" --log bench | sort) "$work/lines"

for ((round = 0; round <= rounds; round++)); do # the first is not counted
  "$cinch" init "${quick[@]}" "$work/once" >/dev/null
  measure append append_pipe "$work/once"
  measure copy copy_pipe "$work/copy"
  rm -rf "$work/once" "$work/copy"
  measure cat cat_pipe
  measure sort sort_pipe
  measure version version
  measure java java_version
done
row "cinch append, from a pipe" append "cat to one file, from a pipe" copy "$lines"
row "cinch cat, settled, to a pipe" cat "sort -m of the same lines, to a pipe" sort "$lines"
row "cinch --version" version "java -version" java 0
