# What cinch does for lease run; sourced by it, when it has chosen Java and its options.
#
# Java holds the leases and never touches the command, which this shell runs as its own child, so that the
# command gets what it would get without Cinch. Three end it in time:
#   Java           when the leases can't be renewed, or this shell is gone
#   guard, below   when Java is gone, or does not say in time that the command may go on
#   the user       by a signal to this shell, which passes it on
signals=(HUP INT QUIT USR1 USR2 PIPE ALRM TERM STKFLT CONT TSTP URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS {34..64})
name="cinch lease run"
trap - EXIT
words=("${@:1:before}")
shift "$before"
environment=()
while IFS= read -r -d '' word; do
  [[ $word != ?*=* ]] || environment+=("$word")
done </proc/$$/environ || :
[ "${#environment[@]}" -gt 0 ] || die "lease run needs /proc, which is not there"
if [[ $1 == */* ]]; then
  [ -e "$1" ] || found=127
  [ -x "$1" ] && [ ! -d "$1" ] || found=${found:-126}
else
  type -P -- "$1" >/dev/null || found=127
fi
case ${found:-} in
  126) echo "$name: $1: can't be run" >&2 && exit 126 ;;
  127) echo "$name: $1: there is no such command" >&2 && exit 127 ;;
esac

exec {out}>&1
coproc holder {
  trap '' "${signals[@]}"
  exec {said}>&1 1>&"$out" {out}>&-
  _JAVA_SR_SIGNUM=16 begin -Xrs "-Dcinch.run=/proc/self/fd/$said" dev.cinch.cli.Main "${words[@]}"
}
keeper=$holder_PID
exec {from}<&"${holder[0]}" {to}>&"${holder[1]}" {out}>&-

# Before the command runs: what ends a program ends the wait for the leases.
early=
for signal in HUP:1 INT:2 TERM:15; do
  # shellcheck disable=SC2064 # now is meant
  trap "early+=' ${signal%:*}'; echo signal ${signal#*:} >&$to" "${signal%:*}"
done
trap : PIPE
# The variables that the command finds its leases by, then an empty word.
words=()
while IFS= read -r -d '' word <&"$from" && [ -n "$word" ]; do
  words+=("$word")
done

# Waits for a child's end, whatever signals come meanwhile.
await() {
  while passed= && wait "$1" && code=0 || code=$?; [ -n "$passed" ]; do :; done
}

if [ "${#words[@]}" = 0 ]; then
  passed=
  await "$keeper" 2>/dev/null
  case $code in
    [1-4] | 129 | 130 | 143) exit "$code" ;;
    *) die "Java ended with $code; nothing was run" ;;
  esac
fi

# A signal that comes meanwhile is passed on when the command has begun.
command=
pass() {
  local signal=$1 stat
  passed=yes
  if [ -z "$command" ]; then
    early+=" $1"
    return
  fi
  # What is typed in a terminal, and its new size, the terminal tells all that it has in front.
  case $1 in
    INT | QUIT | TSTP | WINCH)
      read -r stat </proc/$$/stat
      # shellcheck disable=SC2086 # state, parent, group, session, terminal, the group in front of that, ...
      set -- ${stat##*) }
      [ "$3" = "$6" ] || kill -s "$signal" "$command" 2>/dev/null || :
      ;;
    *) kill -s "$signal" "$command" 2>/dev/null || : ;;
  esac
  if [ "$signal" = TSTP ]; then
    trap - TSTP
    kill -TSTP $$
    trap 'pass TSTP' TSTP
  fi
}
for signal in "${signals[@]}"; do
  # shellcheck disable=SC2064
  trap "pass $signal" "$signal"
done

(
  trap - "${signals[@]}"
  echo "runs $BASHPID" >&"$to" # itself, or Java would not know it if this shell died now
  exec {to}>&- {from}<&-
  for closed in $lacks; do
    eval "exec $closed>&-"
  done
  # env would take a name with an equals sign for a variable
  [[ $1 != *=* ]] || set -- nice -n 0 "$@"
  exec -c env -- "${environment[@]}" "${words[@]}" "$@"
) <&0 &
command=$!

# Milliseconds, by a clock that Java reads too.
clock() {
  read -r now _ </proc/uptime
  now=${now/./}0
}

# Notes a process and all that it started. To be killed they are stopped first, or they would start more.
gather() {
  local list child children
  family+=("$1")
  [ "$2" = TERM ] || kill -STOP "$1" 2>/dev/null || :
  for list in /proc/"$1"/task/*/children; do
    children=()
    read -r -a children 2>/dev/null <"$list" || :
    for child in "${children[@]}"; do
      gather "$child" "$2"
    done
  done
}

send() {
  local old=("${family[@]}") member
  family=()
  for member in "${old[@]}"; do
    ! kill -0 "$member" || gather "$member" "$1"
  done
  for member in "${family[@]}"; do
    kill -s "$1" "$member" || :
  done
}

# Reads from Java until when the command may go on, and when it is to be killed at the latest. Ends it with all that it
# started when nothing new comes by then, or Java is gone; returns 3 then. Java that ends it itself says one time twice.
guard() {
  local command=$1 keeper=$2 end=0 kill=0 left line why=died ending=
  family=()
  read -r end kill || :
  while clock && [ "$now" -lt "$end" ]; do
    printf -v left '%d.%03d' $(((end - now) / 1000)) $(((end - now) % 1000))
    if read -r -t "$left" line; then
      [ "$line" != done ] || return 0
      end=${line% *}
      kill=${line#* }
      if [ "$end" = "$kill" ]; then
        ending=yes
        gather "$command" TERM
      fi
    elif [ $? -le 128 ]; then
      break
    fi
  done
  if [ "$now" -ge "$end" ]; then
    why=hangs
    kill -KILL "$keeper" || :
  fi
  [ -n "$ending" ] || family=("$command")
  if kill -0 "${family[@]}"; then
    echo "cinch lease run: what renews the leases $why; ending the command" >&3
    send TERM
    while clock && [ "$now" -lt "$kill" ] && kill -0 "${family[@]}"; do
      sleep 0.05
    done
    send KILL
  elif [ -z "$ending" ]; then
    return 0
  fi
  return 3
}

(
  trap '' "${signals[@]}"
  exec {to}>&-
  unset BASH_ENV # which bash would read
  # Under a name of its own: whoever kills all that is called lease run leaves it the time to end the command.
  exec -a 'cinch guard' "$BASH" -c "$(declare -f clock gather send guard); guard $command $keeper" \
    3>&2 2>/dev/null <&"$from" {from}<&-
) &
guard=$!
exec {from}<&- 2>/dev/null # bash would tell what killed the command
for signal in $early; do
  pass "$signal"
done

await "$command"
ended=$code
echo ended >&"$to" || :
exec {to}>&-
await "$keeper"
[ "$code" != 3 ] || ended=3
await "$guard"
[ "$code" != 3 ] || ended=3
exit "$ended"
