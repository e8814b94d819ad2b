package dev.cinch.cli;

import dev.cinch.cli.append.AppendCommand;
import dev.cinch.cli.base.Converters;
import dev.cinch.cli.base.CredentialOptions;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Nearest;
import dev.cinch.cli.cell.CellCommand;
import dev.cinch.cli.doctor.DoctorCommand;
import dev.cinch.cli.lease.LeaseCommand;
import dev.cinch.cli.lease.LeaseRunCommand;
import dev.cinch.cli.read.CatCommand;
import dev.cinch.cli.read.CutCommand;
import dev.cinch.cli.read.SqlCommand;
import dev.cinch.cli.read.ViewCommand;
import dev.cinch.cli.serve.KeygenCommand;
import dev.cinch.cli.serve.ServeCommand;
import dev.cinch.cli.serve.ShardsCommand;
import dev.cinch.cli.serve.TlsCommand;
import dev.cinch.cli.serve.TokenCommand;
import dev.cinch.cli.status.StatusCommand;
import dev.cinch.cli.store.AuditCommand;
import dev.cinch.cli.store.BackupCommand;
import dev.cinch.cli.store.CloseCommand;
import dev.cinch.cli.store.DestroyCommand;
import dev.cinch.cli.store.ExpireCommand;
import dev.cinch.cli.store.GcCommand;
import dev.cinch.cli.store.InitCommand;
import dev.cinch.cli.store.LogCommand;
import dev.cinch.cli.store.LogsCommand;
import dev.cinch.cli.store.NamesCommand;
import dev.cinch.cli.store.SalvageCommand;
import dev.cinch.cli.store.VerifyCommand;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Constructor;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IFactory;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.UnmatchedArgumentException;

/** {@code cinch} itself: knows the commands by name, and loads the one that is run. */
@Command(
    name = "cinch",
    scope = ScopeType.INHERIT,
    mixinStandardHelpOptions = true,
    usageHelpAutoWidth = true,
    showDefaultValues = true,
    versionProvider = Commands.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    descriptionHeading = "%n",
    description = "Messages of many writers in a shared directory, fenced by leases.",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    commandListHeading = "%nCommands:%n",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:good",
      "1:damage or a violation was found",
      "2:the command line is wrong",
      "3:refused: rejected, lease not held, too early, clock off",
      "4:unavailable: no store, no server, no permission, an I/O error",
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
public final class Commands {
  /** In the order of the help. */
  private static final List<String> NAMES =
      List.of(
          "init",
          "append",
          "cat",
          "cut",
          "close",
          "status",
          "log",
          "logs",
          "serve",
          "shards",
          "cell",
          "lease",
          "verify",
          "salvage",
          "audit",
          "view",
          "sql",
          "gc",
          "expire",
          "backup",
          "destroy",
          "doctor",
          "keygen",
          "token",
          "tls",
          "completion",
          "help",
          "version",
          "names");

  /** A command by its name; the others are not loaded. */
  private static Class<?> command(String name) {
    return switch (name) {
      case "init" -> InitCommand.class;
      case "append" -> AppendCommand.class;
      case "cat" -> CatCommand.class;
      case "cut" -> CutCommand.class;
      case "close" -> CloseCommand.class;
      case "status" -> StatusCommand.class;
      case "log" -> LogCommand.class;
      case "logs" -> LogsCommand.class;
      case "serve" -> ServeCommand.class;
      case "shards" -> ShardsCommand.class;
      case "cell" -> CellCommand.class;
      case "lease" -> LeaseCommand.class;
      case "verify" -> VerifyCommand.class;
      case "salvage" -> SalvageCommand.class;
      case "audit" -> AuditCommand.class;
      case "view" -> ViewCommand.class;
      case "sql" -> SqlCommand.class;
      case "gc" -> GcCommand.class;
      case "expire" -> ExpireCommand.class;
      case "backup" -> BackupCommand.class;
      case "destroy" -> DestroyCommand.class;
      case "doctor" -> DoctorCommand.class;
      case "keygen" -> KeygenCommand.class;
      case "token" -> TokenCommand.class;
      case "tls" -> TlsCommand.class;
      case "completion" -> CompletionCommand.class;
      case "help" -> Help.class;
      case "version" -> Version.class;
      case "names" -> NamesCommand.class;
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Variables of the environment that stand for options. */
  private static final Map<String, String> VARIABLES = new HashMap<>(CredentialOptions.VARIABLES);

  static {
    VARIABLES.put("--store", "CINCH_STORE");
    VARIABLES.put("--server", "CINCH_SERVER");
    VARIABLES.put("--machine", "CINCH_MACHINE");
  }

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
  boolean verbose; // Logging looks for it before anything logs

  /** The version as a command, and for {@code --version}. */
  @Command(
      name = "version",
      description = "Print the version.",
      footer = {"", "Example:", "  cinch version"})
  record Version(Io io) implements Callable<Integer>, IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {Main.versionLine()};
    }

    @Override
    public Integer call() {
      return Main.show(Main.versionLine() + "\n", io);
    }
  }

  /** In the list of commands; {@link #run} does what it is for. */
  @Command(
      name = "help",
      description = "Print the help of a command.",
      footer = {"", "Examples:", "  cinch help append", "  cinch help lease acquire"})
  record Help(Io io) {}

  static int run(String[] args, Io io) {
    List<String> all = List.of(args);
    if (!all.isEmpty() && all.get(0).equals("help") && all.stream().noneMatch(Commands::isOption)) {
      return help(all.subList(1, all.size()), io);
    }
    CommandLine line = build(new Commands(), all, io);
    int end = all.contains("lease") ? LeaseRunCommand.end(all) : -1;
    if (end < 0) {
      return line.execute(all.toArray(String[]::new));
    }
    CommandLine lease = line.getSubcommands().get("lease");
    CommandLine run = lease == null ? null : lease.getSubcommands().get("run");
    if (run != null && run.getCommand() instanceof LeaseRunCommand command) {
      command.hasCommand = end + 1 < all.size();
    }
    return line.execute(all.subList(0, end).toArray(String[]::new));
  }

  private static int help(List<String> path, Io io) {
    CommandLine line = all(io);
    for (String name : path) {
      CommandLine sub = line.getSubcommands().get(name);
      if (sub == null) {
        return misused(io, new UnmatchedArgumentException(line, List.of(name)));
      }
      line = sub;
    }
    return Main.show(line.getUsageMessage(), io);
  }

  /** The whole tree of commands. */
  public static CommandLine all(Io io) {
    return build(new Commands(), List.of(), io);
  }

  private static CommandLine build(Commands root, List<String> args, Io io) {
    IFactory factory = factory(io);
    var line = new CommandLine(root, factory);
    String wanted = args.stream().filter(arg -> !isOption(arg)).findFirst().orElse("");
    // Looking at every command's options takes longer than most commands run.
    for (String name : NAMES.contains(wanted) ? List.of(wanted) : NAMES) {
      line.addSubcommand(name, command(name));
    }
    var help = new StringWriter(); // written to a full disk it would be cut without a word
    line.setOut(new PrintWriter(help));
    line.setErr(new PrintWriter(io.err(), true));
    line.setDefaultValueProvider(
        arg ->
            arg instanceof OptionSpec o && hasVariable(o) ? variable(o.longestName(), io) : null);
    Converters.register(line);
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setAbbreviatedOptionsAllowed(false);
    line.setExecutionExceptionHandler((e, command, parsed) -> io.told(command.getCommandSpec(), e));
    line.setParameterExceptionHandler((e, unused) -> misused(io, e));
    line.setExecutionStrategy(
        parsed -> {
          int code = new CommandLine.RunLast().execute(parsed);
          return help.getBuffer().isEmpty() ? code : Main.show(help.toString(), io);
        });
    return line;
  }

  /** Makes commands of the world around them, where they take one. */
  private static IFactory factory(Io io) {
    return new IFactory() {
      @Override
      public <K> K create(Class<K> type) throws Exception {
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
          if (constructor.getParameterCount() == 1
              && constructor.getParameterTypes()[0] == Io.class) {
            constructor.setAccessible(true);
            return type.cast(constructor.newInstance(io));
          }
        }
        return CommandLine.defaultFactory().create(type);
      }
    };
  }

  /** A server's own certificate is not what its user shows to servers. */
  private static boolean hasVariable(OptionSpec option) {
    boolean ofServer =
        option.longestName().startsWith("--tls-") && option.command().name().equals("serve");
    return VARIABLES.containsKey(option.longestName()) && !ofServer;
  }

  private static boolean isOption(String arg) {
    return arg.startsWith("-");
  }

  private static int misused(Io io, ParameterException e) {
    return io.told(e.getCommandLine().getCommandSpec(), new Misuse(text(e), e));
  }

  private static String text(ParameterException e) {
    CommandLine command = e.getCommandLine();
    for (CommandLine l = command.getParent(); l != null; l = l.getParent()) {
      List<String> before = options(l.getUnmatchedArguments());
      if (!before.isEmpty()) {
        return unknown(before, l); // what it misses may stand there
      }
    }
    List<String> unmatched =
        e instanceof UnmatchedArgumentException one
            ? one.getUnmatched()
            : command.getUnmatchedArguments();
    if (!unmatched.isEmpty() && !isOption(unmatched.get(0))) {
      String name = unmatched.get(0);
      if (!command.getSubcommands().isEmpty()) {
        return "there is no command '" + name + "'" + meant(command, name);
      }
      // A list ends, for picocli, where something is no element of it.
      for (var names : command.getCommandSpec().positionalParameters()) {
        String problem = Converters.problem(names.auxiliaryTypes()[0], name);
        if (problem != null) {
          return problem;
        }
      }
    }
    List<String> options = options(unmatched);
    if (!options.isEmpty()) {
      return unknown(options, command); // what is missing may be what was mistyped
    }
    String message = String.valueOf(e.getMessage());
    if (e instanceof MissingParameterException missing) {
      return orVariables(message, missing.getMissing());
    }
    return message.equals("Missing required subcommand")
        ? "name a command: " + String.join(", ", shown(command))
        : message;
  }

  private static List<String> options(List<String> arguments) {
    return arguments.stream().filter(Commands::isOption).toList();
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
        : meant(
            option,
            command.getCommandSpec().options().stream()
                .filter(known -> !known.hidden())
                .map(OptionSpec::longestName)
                .toList());
  }

  private static List<String> shown(CommandLine group) {
    return group.getSubcommands().entrySet().stream()
        .filter(sub -> !sub.getValue().getCommandSpec().usageMessage().hidden())
        .map(Map.Entry::getKey)
        .toList();
  }

  private static String meant(CommandLine group, String typed) {
    String known = ELSEWHERE.get(group.getCommandSpec().qualifiedName() + " " + typed);
    return known != null ? "; did you mean " + known + "?" : meant(typed, shown(group));
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
}
