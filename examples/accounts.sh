#!/usr/bin/env bash
# Three accounts of one group use a store: whatever one of them makes or closes the others read, close, build, retire,
# expire and destroy.
#
#   examples/accounts.sh [DIR [ONE TWO THREE]]
#
# DIR is on the filesystem to try, and any account may make directories there; /tmp otherwise. Each of the six orders of
# the accounts has a store of its own there. ONE, TWO and THREE are accounts whose one order is tried alone. Needs root,
# but not on the filesystem, as NFS's root_squash has it. It changes no account of the machine: it runs as three that
# every Debian has. Exit code 0 if all of that works, 77 if it can't be tried here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cinch=$root/cli/bin/cinch
group=users accounts=(daemon bin games) alone=("${@:2}")
[ "${#alone[@]}" -ne 3 ] || accounts=("${alone[@]}")
skip() { echo "accounts: SKIPPED: $*"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "not run as root: there is no other account"
command -v setpriv >/dev/null || skip "there is no setpriv (util-linux)"
for account in "${accounts[@]}"; do id "$account" >/dev/null 2>&1 || skip "there is no account $account"; done
"$cinch" --version >/dev/null # builds Cinch where there is no build
setpriv --reuid "${accounts[0]}" --regid "${accounts[0]}" --clear-groups test -x "$cinch" ||
  skip "other accounts may not read $root"

# The stores, which root may not look into, and what is root's.
stores=$(mktemp -d "${1:-/tmp}/cinch-accounts.XXXXXX")
chmod 1777 "$stores"
work=$(mktemp -d)
chmod 0755 "$work"
servers=$work/servers
touch "$servers"
stop() {
  while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done <"$servers"
  [ -z "${failed-yes}" ] && rm -rf "$work" "$stores" || echo "accounts: left in $work and $stores" >&2
}
trap stop EXIT
trap 'exit 130' INT TERM

# A command as one of the accounts, of which the group is not the first one. With exec=exec in place of the shell.
as() { ${exec:-} setpriv --reuid "$1" --regid "$1" --groups "$group" env HOME=/ CINCH_STORE="$store" "${@:2}"; }
fail() { echo "accounts: $order: $*" >&2; exit 1; }
may() { as "$1" "$cinch" "${@:2}" >"$own/out" 2>"$own/err" </dev/null || fail "$* ended with $?: $(cat "$own/err")"; }
line() { echo "$2" | as "$1" "$cinch" append --log jobs "${@:3}" >"$own/out" 2>"$own/err" ||
  fail "$1 can't append $2 ${*:3}: $(cat "$own/err")"; lines+="$2"$'\n'; }
says() { grep -q "$1" "$own/out" || fail "expected $1, got: $(cat "$own/out" "$own/err")"; }
same() { [ "$(cat "$own/out")" = "${lines%$'\n'}" ] || fail "$* reads other lines: $(cat "$own/out")"; }
bare() { local locks; locks=$(as "$one" find "$store/logs" -name lock); [ -z "$locks" ] || fail "buckets stand: $locks"; }
serve() { # as an account, with a key of its own
  install -o "$1" -m 0600 "$own/key" "$own/key.$1"
  : >"$own/served"
  exec=exec as "$1" "$cinch" serve --key "$own/key.$1" --port 0 --longest-lease 20s >"$own/served" 2>&1 </dev/null &
  server=$!
  echo "$server" >>"$servers"
  until CINCH_SERVER=$(sed -n 's/^listening on //p' "$own/served") && [ -n "$CINCH_SERVER" ]; do
    kill -0 "$server" 2>/dev/null || fail "$1 can't serve: $(cat "$own/served")"
    sleep 0.1
  done
  export CINCH_SERVER
}

try() {
  one=$1 two=$2 three=$3 order="$*" lines=''
  own=$work/$one-$two-$three store=$stores/$one-$two-$three/store
  install -d -o "$one" -m 0755 "$own"
  as "$one" sh -c 'mkdir "$1" && chgrp "$2" "$1" && chmod 02770 "$1"' - "${store%/*}" "$group"
  may "$one" init --group "$group" --file-mode 0660 --directory-mode 02770 --key "$own/key" \
    --bucket-width 500ms --grace 1s --clock-ahead 200ms --clock-behind 200ms --timestamp-distance 100ms \
    --slow-append 500ms "$store"
  serve "$one"
  # One makes the log and settles, another one appends, the third closes.
  line "$two" first --settle
  line "$three" second
  may "$one" close --log jobs --wait
  # A holder is killed, and another account fences.
  mkfifo "$own/lines"
  exec=exec as "$two" "$cinch" append --json --log jobs --lease a/name --lease-for 5s <"$own/lines" >"$own/killed" 2>"$own/err" &
  local writer=$!
  exec 5>"$own/lines"
  echo killed >&5
  until [ -s "$own/killed" ]; do
    kill -0 "$writer" 2>/dev/null || fail "$two can't append under a lease: $(cat "$own/err")"
    sleep 0.1
  done
  kill -9 "$writer"
  wait "$writer" 2>/dev/null || true
  exec 5>&-
  lines+=$'killed\n'
  line "$three" fenced --lease a/name --wait 30s
  may "$one" close --log jobs --wait
  may "$one" cat --log jobs && same "$one"
  may "$two" view build --wait 0s
  may "$three" gc --retention 0s && bare
  # The rest is the same in each order of these three.
  [ "$one" = "${accounts[0]}" ] && rest || { kill "$server" && wait "$server" || true; }
  as "$one" rm -r "${store%/*}"
}

# With the accounts of an order that was tried: another lease server, all that reads, and all that ends.
rest() {
  kill "$server" && wait "$server" || true
  serve "$two"
  line "$one" third --lease a/name --wait 30s --settle
  may "$three" view build --wait 0s
  may "$two" gc --retention 0s && bare
  may "$one" status && says 'nothing needs attention'
  may "$two" cat --log jobs && same "$two"
  may "$three" view cat --log jobs && same "$three"
  may "$one" verify
  may "$two" audit
  may "$three" salvage --log jobs && same "$three"
  may "$one" doctor
  # What one built another one expires; what one made another one removes.
  line "$two" kept --settle
  may "$one" view build --wait 0s
  may "$two" gc --retention 0s && bare
  may "$three" expire --log jobs --keep 0s
  lines=$'kept\n'
  may "$one" cat --log jobs && same "$one"
  may "$two" log create other
  may "$three" log rm other --yes other
  may "$one" log rm jobs --yes jobs
  kill "$server" && wait "$server" || true
  sleep 5 # until no lease can be held
  may "$three" destroy "$store" --yes store
  as "$one" test ! -e "$store" || fail "destroy left $(as "$one" find "$store" | head -3)"
}

begun=$SECONDS
running=()
for one in "${accounts[@]}"; do
  for two in "${accounts[@]}"; do
    for three in "${accounts[@]}"; do
      if [ "$one" != "$two" ] && [ "$one" != "$three" ] && [ "$two" != "$three" ] &&
        [ "${alone[*]:-$one $two $three}" = "$one $two $three" ]; then
        try "$one" "$two" "$three" &
        running+=($!)
      fi
    done
  done
done
bad=0
for each in "${running[@]}"; do wait "$each" || bad=$((bad + 1)); done
[ "$bad" -eq 0 ] || { echo "accounts: $bad of ${#running[@]} orders failed" >&2; exit 1; }
failed=''
echo "accounts: ${#running[@]} orders of three accounts in $((SECONDS - begun)) s: each does what the others began"
