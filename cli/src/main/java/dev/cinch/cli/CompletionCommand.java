package dev.cinch.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;

/** Prints a completion script. */
@Command(
    name = "completion",
    mixinStandardHelpOptions = true,
    description = {
      "Print a script that completes commands, options, and the names of logs and leases in bash"
          + " and zsh."
    },
    footer = {"", "Example:", "  source <(cinch completion)"})
final class CompletionCommand implements Callable<Integer> {
  /**
   * In front of what picocli makes, which knows no values that change. The store and the server are
   * those of the line, else of the environment. What fails or takes long offers nothing.
   */
  private static final String NAMES =
      """

      # Completes the names of logs and leases; leaves all else to the above.
      function _cinch_names() {
        local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
        if [ "$cur" = "=" ]; then cur=""
        elif [ "$prev" = "=" ]; then prev="${COMP_WORDS[COMP_CWORD-2]}"; fi
        local kind="" place="" word before="" options=()
        for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
          case "$before" in
            --store|--server) if [ "$word" = "=" ]; then continue; fi; options+=("$before=${word/#\\~/$HOME}") ;;
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
               " lease acquire"*|" lease show"*|" lease run"*) kind=leases ;;
             esac ;;
        esac
        case "$cur" in -*) kind="" ;; esac
        if [ -z "$kind" ]; then _complete_cinch; return; fi
        local IFS=$'\\n'
        COMPREPLY=($(compgen -W "$(timeout 3 cinch names "${options[@]}" "$kind" "$cur" 2>/dev/null)" -- "$cur"))
      }
      complete -F _cinch_names -o default cinch
      """;

  private final Io io;

  CompletionCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    try (Output out = io.output()) {
      out.text(AutoComplete.bash("cinch", Commands.all(io)));
      out.text(NAMES);
    }
    return ExitCode.GOOD;
  }
}
