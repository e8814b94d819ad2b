# What cinch does for lease run; sourced by it, when it has chosen Java and its options.
#
# Java holds the leases and never touches the command, which this shell runs as its own child, so that the
# command gets what it would get without Cinch. Any one of three that is left ends it in time:
#   Java           when the leases can't be renewed, or this shell is gone
#   guard, below   when Java is gone, or does not say in time that the command may go on
#   this shell     likewise, when the guard is gone or stopped, too
# And so does the user, by a signal to this shell, which passes it on. Until when the command may go on stands in a file:
# who was stopped for a while finds there what was said last.
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
exec {from}<&"${holder[0]}" {to}>&"${holder[1]}" {out}>&- {holder[0]}<&- {holder[1]}>&-

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
if [ "${#words[@]}" != 0 ]; then
  { exec {limits}<"${words[0]#*=}/limits"; } 2>/dev/null || die "the grant's directory is gone; nothing was run"
  exec {idle}<> <(:) {err}>&2
fi

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
    return 0
  fi
  # What is typed in a terminal, and its new size, the terminal tells all that it has in front.
  case $1 in
    INT | QUIT | TSTP | WINCH)
      stat=$(</proc/$$/stat) # one read within another would take its time from that
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
  exec {to}>&- {from}<&- {limits}<&- {idle}<&- {err}>&-
  for closed in $lacks; do
    eval "exec $closed>&-"
  done
  # env would take a name with an equals sign for a variable
  [[ $1 != *=* ]] || set -- nice -n 0 "$@"
  exec -c env -- "${environment[@]}" "${words[@]}" "$@"
) <&0 &
command=$!

# Looks what time it is, by a clock that goes on while the machine sleeps, and what Java said last: until when the
# command may go on, and when it is to be killed at the latest. Milliseconds.
look() {
  local a= b= c= d=
  read -r now _ </proc/uptime
  now=${now/./}0
  read -r a b c d <"/proc/self/fd/$limits" || :
  [ -z "$d" ] || [ "$a $b" != "$c $d" ] || { end=$a && kill=$b; } # else it is being written
}

# Sets stat to what a process does: T where it is stopped, X where it has ended.
status() {
  read -r stat <"/proc/$1/stat" || stat=') X'
  stat=${stat##*) }
  case ${stat%% *} in
    [Tt]) stat=T ;;
    [ZX]) stat=X ;;
    *) stat=R ;;
  esac
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

# Whether it is for this process to end the command: Java is gone, or hangs; and so does whoever is to do it first.
# Java that ends it itself says one time twice.
due() {
  look
  if [ "$end" = "$kill" ] && [ -z "$ending" ]; then
    ending=yes
    gather "$command" TERM
  fi
  if [ -n "$first" ] && [ "$now" -lt $((kill + late)) ]; then
    status "$first"
    [ "$stat" != R ] || return 1
  fi
  status "$keeper"
  [ "$stat" = X ] || [ "$now" -ge "$end" ]
}

# Ends the command with all that it started; returns 3 then.
finish() {
  local why=died
  status "$keeper"
  if [ "$stat" != X ]; then
    why=hangs
    kill -KILL "$keeper" || :
  fi
  [ -n "$ending" ] || family=("$command")
  if kill -0 "${family[@]}"; then
    echo "cinch lease run: what renews the leases $why; ending the command" >&"$err"
    send TERM
    while look && [ "$now" -lt "$kill" ] && kill -0 "${family[@]}"; do
      sleep 0.05
    done
    send KILL
  elif [ -z "$ending" ]; then
    return 0
  fi
  return 3
}

# Ends the command when it is due, unless Java says before that it has ended.
guard() {
  local line code nap=0.1
  until due; do
    # Nobody tells the command to end before the time at which Java would have killed it.
    [ -z "$ending" ] || nap=0.02
    if read -r -t "$nap" line; then
      [ "$line" != done ] || return 0
    else
      code=$?
      [ "$code" -gt 128 ] || break # Java is gone
    fi
  done
  finish
}

family=()
ending=
first=
late=0
end=
while look && [ -z "$end" ]; do :; done
(
  trap '' "${signals[@]}"
  exec {to}>&- {idle}<&-
  unset BASH_ENV # which bash would read
  # Under a name of its own: whoever kills all that is called lease run leaves it the time to end the command.
  exec -a 'cinch guard' "$BASH" -c "$(declare -p command keeper limits err family ending first late end kill)
    $(declare -f look status gather send due finish guard); guard" 2>/dev/null <&"$from" {from}<&-
) &
guard=$!
exec {from}<&- 2>/dev/null # bash would tell what killed the command
for signal in $early; do
  pass "$signal"
done

# Bash can't wait for a child and for a time at once.
first=$guard
late=$(((kill - end) / 10))
ended=
nap=0.02 # the first 50 times: much is short
naps=0
twice=
while kill -0 "$command"; do
  if ! due; then
    twice=
  elif [ -z "$twice" ]; then
    twice=yes # the guard may have ended it at this moment
  else
    finish || ended=$?
    break
  fi
  naps=$((naps + 1))
  [ "$naps" != 50 ] || nap=0.1
  read -r -t "$nap" -u "$idle" || :
done
await "$command"
command=
look
status "$keeper"
# Nobody says that it ended while the leases were held.
[ "$stat" != X ] && [ "$now" -lt "$end" ] || ended=3

# Waits for the end of Java, or of the guard, whose code it sets. One that is stopped is killed at a time.
settle() {
  until status "$1" && [ "$stat" = X ]; do
    look
    [ "$stat" != T ] || [ "$now" -lt "$2" ] || kill -KILL "$1" || :
    read -r -t 0.01 -u "$idle" || :
  done
  await "$1"
  [ "$code" != 3 ] || ended=3
}

ends=$code
echo ended >&"$to" || :
exec {to}>&-
settle "$keeper" "$kill"
settle "$guard" 0
exit "${ended:-$ends}"
