
# Completes the names of logs and leases; leaves all else to the above.
function _cinch_names() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
  if [ "$cur" = "=" ]; then cur=""
  elif [ "$prev" = "=" ]; then prev="${COMP_WORDS[COMP_CWORD-2]}"; fi
  local kind="" place="" word before="" options=()
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case "$before" in
      --store|--server) if [ "$word" = "=" ]; then continue; fi; options+=("$before=${word/#\~/$HOME}") ;;
    esac
    case "$word" in --store=*|--server=*) options+=("$word") ;; esac
    before="$word"
  done
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case "$word" in -*) break ;; *) place="$place $word" ;; esac
  done
  case "$prev" in
    --log) kind=logs ;;
    --lease) kind=leases ;;
    -*) ;;
    *) case "$place" in
         " log rm"*) kind=logs ;;
         " lease acquire"*|" lease show"*|" lease who"*|" lease run"*) kind=leases ;;
         " lease revoke"*|" lease watch"*) kind=leases ;;
       esac ;;
  esac
  case "$cur" in -*) kind="" ;; esac
  if [ -z "$kind" ]; then _complete_cinch; return; fi
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(timeout 3 "${COMP_WORDS[0]/#\~/$HOME}" names "${options[@]}" "$kind" "$cur" 2>/dev/null)" -- "$cur"))
}
complete -F _cinch_names -o default cinch
