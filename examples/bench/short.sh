#!/usr/bin/env bash
# Many short `cinch append` into one bucket, with and without sharing, in turns. Usage: short.sh [DIRECTORY] [PROCESSES]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cinch=$here/../../cli/bin/cinch
parent=${1:-/dev/shm}
processes=${2:-50}
work=$(mktemp -d "$parent/short-bench.XXXXXX")
slots=$(mktemp -d /dev/shm/short-slots.XXXXXX)
trap 'rm -rf "$work" "$slots"' EXIT
"$cinch" init --bucket-width=10m --longest-lease=20m "$work/store" >/dev/null
one() { # NAME OPTIONS...
  local began=${EPOCHREALTIME/,/.}
  echo message | "$cinch" append --store "$work/store" --log "$1" "${@:2}"
  awk -v a="$began" -v b="${EPOCHREALTIME/,/.}" 'BEGIN { printf "%.6f\n", b - a }' >>"$work/times.$1"
}
for ((i = 0; i < processes; i++)); do
  one shared --share "$slots"
  one alone --no-share
done
for name in shared alone; do
  files=$(find "$work/store/logs/$name" -name '*.log' | wc -l)
  sort -g "$work/times.$name" | awk -v n="$name" -v f="$files" '{ t[NR] = $1 }
    END { printf "%-8s %d processes, %d data files, median %.3f s\n", n, NR, f, t[int((NR + 1) / 2)] }'
done
