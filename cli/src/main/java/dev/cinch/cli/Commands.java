package dev.cinch.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** {@code cinch} itself: knows the commands by name, and loads the one that is run. */
@Command(
    name = "cinch",
    mixinStandardHelpOptions = true,
    versionProvider = Commands.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    description = "Messages of many writers in a shared directory, fenced by leases.",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:good",
      "1:damage or a violation was found",
      "2:the command line is wrong",
      "3:refused: rejected, lease not held, too early, clock off",
      "4:unavailable: no store, no server, no permission, an I/O error",
      "5:messages expired while cat read them, and what it printed lacks them",
      "130:append was stopped by SIGINT, and finished what it had taken",
      "143:the same by SIGTERM"
    },
    footer = {
      "",
      "Example:",
      "  cinch init /mnt/shared/store",
      "  export CINCH_STORE=/mnt/shared/store",
      "  printf 'one\\ntwo\\n' | cinch append --log jobs",
      "  cinch cat --log jobs --live",
    })
final class Commands implements Callable<Integer> {
  private static final Map<String, Function<Io, Object>> BY_NAME = new LinkedHashMap<>();

  static {
    BY_NAME.put("init", InitCommand::new);
    BY_NAME.put("append", AppendCommand::new);
    BY_NAME.put("cat", CatCommand::new);
    BY_NAME.put("close", CloseCommand::new);
    BY_NAME.put("status", StatusCommand::new);
    BY_NAME.put("log", LogCommand::new);
    BY_NAME.put("logs", LogsCommand::new);
    BY_NAME.put("serve", ServeCommand::new);
    BY_NAME.put("shards", ShardsCommand::new);
    BY_NAME.put("cell", CellCommand::new);
    BY_NAME.put("lease", LeaseCommand::new);
    BY_NAME.put("verify", VerifyCommand::new);
    BY_NAME.put("salvage", SalvageCommand::new);
    BY_NAME.put("audit", AuditCommand::new);
    BY_NAME.put("view", ViewCommand::new);
    BY_NAME.put("gc", GcCommand::new);
    BY_NAME.put("expire", ExpireCommand::new);
    BY_NAME.put("doctor", DoctorCommand::new);
    BY_NAME.put("keygen", KeygenCommand::new);
    BY_NAME.put("completion", CompletionCommand::new);
    BY_NAME.put("help", HelpCommand::new);
    BY_NAME.put("version", VersionCommand::new);
    BY_NAME.put("names", NamesCommand::new);
  }

  /** Variables of the environment that stand for options. */
  static final Map<String, String> VARIABLES =
      Map.of("--store", "CINCH_STORE", "--server", "CINCH_SERVER", "--machine", "CINCH_MACHINE");

  /** What people type who know other tools, and what they mean. */
  private static final Map<String, String> ELSEWHERE =
      Map.of(
          "cinch ls", "cinch logs",
          "cinch list", "cinch logs",
          "cinch log ls", "cinch logs",
          "cinch log list", "cinch logs",
          "cinch log remove", "cinch log rm",
          "cinch log delete", "cinch log rm",
          "cinch lease ls", "cinch lease list");

  @Option(
      names = "--debug",
      scope = ScopeType.INHERIT,
      description = "Show the stack trace of a failure.")
  boolean debug;

  @Option(
      names = {"-v", "--verbose"},
      scope = ScopeType.INHERIT,
      description = "Log what the libraries do, on standard error.")
  void verbose(boolean on) {
    if (on) {
      System.setProperty(QuietLogging.LEVEL, "DEBUG");
    }
  }

  @Spec @Nullable CommandSpec spec;

  /** Reads the version from the build. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {Main.versionLine()};
    }
  }

  static int run(String[] args, Io io) {
    var root = new Commands();
    CommandLine line = build(root, args, io);
    List<String> all = List.of(args);
    int end = LeaseRunCommand.end(all);
    if (end < 0) {
      return line.execute(args);
    }
    CommandLine lease = line.getSubcommands().get("lease");
    CommandLine run = lease == null ? null : lease.getSubcommands().get("run");
    if (run != null && run.getCommand() instanceof LeaseRunCommand command) {
      command.hasCommand = end + 1 < all.size();
    }
    return line.execute(all.subList(0, end).toArray(String[]::new));
  }

  /** One of the commands, as picocli has it. */
  static CommandLine named(String name, Io io) {
    return find(new Commands(), name, io);
  }

  private static CommandLine find(Commands root, String name, Io io) {
    return Objects.requireNonNull(
        build(root, new String[] {name}, io).getSubcommands().get(name), name);
  }

  /** Tells of the failure of a command whose options picocli did not set; gives its exit code. */
  static int failed(String name, Io io, Exception e) {
    var root = new Commands();
    return fail(root, io, find(root, name, io), e);
  }

  /** The whole tree of commands. */
  static CommandLine all(Io io) {
    return build(new Commands(), new String[0], io);
  }

  private static CommandLine build(Commands root, String[] args, Io io) {
    var line = new CommandLine(root);
    String wanted = wanted(args);
    // Looking at every command's options takes longer than most commands run.
    boolean one = BY_NAME.containsKey(wanted) && !wanted.equals("help");
    Set<String> names = one ? Set.of(wanted) : BY_NAME.keySet();
    for (String name : names) {
      Function<Io, Object> make = BY_NAME.get(name);
      if (make != null) {
        Object command = make.apply(io);
        line.addSubcommand(
            name, command instanceof Group group ? group.line() : new CommandLine(command));
      }
    }
    var help = new StringWriter(); // written to a full disk it would be cut without a word
    line.setOut(new PrintWriter(help));
    line.setErr(new PrintWriter(io.err(), true));
    line.setDefaultValueProvider(
        arg ->
            arg instanceof OptionSpec o && VARIABLES.containsKey(o.longestName())
                ? variable(o.longestName(), io)
                : null);
    Converters.register(line);
    if (!one || List.of(args).contains("--help") || List.of(args).contains("-h")) {
      Usage.shape(line, io);
    }
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setAbbreviatedOptionsAllowed(false);
    line.setExecutionExceptionHandler((e, command, parsed) -> fail(root, io, command, e));
    line.setParameterExceptionHandler((e, unused) -> misuse(root, io, e));
    line.setExecutionStrategy(
        parsed -> {
          int code = new CommandLine.RunLast().execute(parsed);
          return help.getBuffer().isEmpty() ? code : Main.show(help.toString(), io);
        });
    return line;
  }

  /** A command that only groups others. */
  interface Group {
    CommandLine line();
  }

  private static String wanted(String[] args) {
    for (String arg : args) {
      if (!arg.startsWith("-")) {
        return arg;
      }
    }
    return "";
  }

  private static int misuse(Commands root, Io io, ParameterException e) {
    CommandLine command = e.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    say(io, name, text(e) + " (see " + name + " --help)");
    if (root.debug) {
      e.printStackTrace(io.err());
    }
    return ExitCode.USAGE;
  }

  private static String text(ParameterException e) {
    for (CommandLine l = e.getCommandLine().getParent(); l != null; l = l.getParent()) {
      List<String> before = options(l.getUnmatchedArguments());
      if (!before.isEmpty()) {
        return unknown(before, l); // what it misses may stand there
      }
    }
    List<String> unmatched = e.getCommandLine().getUnmatchedArguments();
    if (e instanceof UnmatchedArgumentException one) {
      unmatched = one.getUnmatched();
    }
    var commands = e.getCommandLine().getSubcommands().keySet();
    if (!unmatched.isEmpty() && !unmatched.get(0).startsWith("-")) {
      String name = unmatched.get(0);
      if (!commands.isEmpty()) {
        return "there is no command '" + name + "'" + meant(e.getCommandLine(), name);
      }
      // A list ends, for picocli, where something is no element of it.
      for (var names : e.getCommandLine().getCommandSpec().positionalParameters()) {
        String problem = Converters.problem(names.auxiliaryTypes()[0], name);
        if (problem != null) {
          return problem;
        }
      }
    }
    List<String> options = options(unmatched);
    if (!options.isEmpty()) {
      return unknown(options, e.getCommandLine()); // what is missing may be what was mistyped
    }
    String message = String.valueOf(e.getMessage());
    return e instanceof MissingParameterException missing
        ? orVariables(message, missing.getMissing())
        : message;
  }

  private static List<String> options(List<String> arguments) {
    return arguments.stream().filter(a -> a.startsWith("-")).toList();
  }

  /** Options that are not known. They may have left values behind, which are no options. */
  private static String unknown(List<String> options, CommandLine command) {
    return (options.size() == 1 ? "Unknown option: '" : "Unknown options: '")
        + String.join("', '", options)
        + "'"
        + hint(options.get(0).replaceFirst("=.*", ""), command);
  }

  private static String hint(String option, CommandLine command) {
    boolean ofCommands =
        command.getSubcommands().values().stream()
            .anyMatch(sub -> sub.getCommandSpec().findOption(option) != null);
    return ofCommands
        ? "; options stand behind the command: "
            + command.getCommandSpec().qualifiedName()
            + " COMMAND "
            + option
        : meant(option, shown(command));
  }

  private static List<String> shown(CommandLine command) {
    return command.getCommandSpec().options().stream()
        .filter(option -> !option.hidden())
        .map(OptionSpec::longestName)
        .toList();
  }

  private static String meant(CommandLine group, String typed) {
    String full = group.getCommandSpec().qualifiedName() + " " + typed;
    String known = ELSEWHERE.get(full);
    return known != null
        ? "; did you mean " + known + "?"
        : meant(typed, group.getSubcommands().keySet());
  }

  private static String meant(String typed, Collection<String> names) {
    return Nearest.to(typed, names).map(name -> "; did you mean " + name + "?").orElse("");
  }

  /** Names the variables that would have stood for what is missing. */
  private static String orVariables(String message, List<ArgSpec> missing) {
    String all = message;
    for (ArgSpec arg : missing) {
      String variable =
          arg instanceof OptionSpec o ? VARIABLES.getOrDefault(o.longestName(), "") : "";
      if (!variable.isEmpty()) {
        String label = "'" + ((OptionSpec) arg).longestName() + "=" + arg.paramLabel() + "'";
        all = all.replace(label, label + " (or set " + variable + ")");
      }
    }
    return all;
  }

  /** An empty one names no server, and commands that ask none need none. */
  private static @Nullable String variable(String option, Io io) {
    String value = io.env().apply(VARIABLES.getOrDefault(option, ""));
    return option.equals("--server") && "".equals(value) ? null : value;
  }

  private static int fail(Commands root, Io io, CommandLine command, Throwable e) {
    if (e instanceof ParameterException misuse) {
      return misuse(root, io, misuse);
    }
    int code = told(io, command.getCommandSpec(), e);
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    return code;
  }

  /** Tells of a failure in one line, with {@code --debug} also where; gives its exit code. */
  static int told(Io io, CommandSpec command, Throwable e) {
    Failure failure = Failure.of(e);
    if (!failure.line().isEmpty()) {
      say(io, command.qualifiedName(), failure.line());
    }
    if (command.root().userObject() instanceof Commands root && root.debug) {
      e.printStackTrace(io.err());
    }
    return failure.code();
  }

  /** One line about this command on standard error. */
  static void say(Io io, String command, String text) {
    io.err().println(command + ": " + Failure.oneLine(text));
    io.err().flush();
  }

  @Override
  public Integer call() {
    CommandSpec s = Objects.requireNonNull(spec);
    throw new ParameterException(
        s.commandLine(),
        BY_NAME.keySet().stream()
            .filter(name -> !name.equals("names")) // only shells call it
            .collect(Collectors.joining(", ", "name a command: ", "")));
  }
}
