package dev.cinch.cli;

import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.bag.write.Durability;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.http.ServerAddresses;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the command line of an append as it usually is. Picocli takes a third of a short command to
 * learn of the options by reflection; it reads whatever else there is, and tells what is wrong.
 */
final class UsualAppend {
  private final Io io;
  private final AppendCommand command;
  private final Map<String, String> given = new HashMap<>();

  private UsualAppend(Io io) {
    this.io = io;
    command = new AppendCommand(io);
  }

  /** The command with its options set; null if picocli is to read it. */
  static @Nullable AppendCommand read(String[] args, Io io) {
    if (args.length == 0 || !args[0].equals("append")) {
      return null;
    }
    var usual = new UsualAppend(io);
    try {
      return usual.take(args) && usual.apply() ? usual.command : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  /** Whether all of them are known, and none is given in a way that needs a second look. */
  private boolean take(String[] args) {
    for (int i = 1; i < args.length; i++) {
      String arg = args[i];
      int equals = arg.startsWith("--") ? arg.indexOf('=') : -1;
      String name = equals < 0 ? arg : arg.substring(0, equals);
      String value;
      switch (name) {
        case "--json", "--create", "--no-create" -> value = equals < 0 ? "true" : "";
        case "--store", "--log", "--lease", "--server", "--machine" -> {
          if (equals >= 0) {
            value = arg.substring(equals + 1);
          } else {
            value = ++i < args.length ? args[i] : "";
          }
        }
        default -> {
          value = arg;
          name = "FILE";
        }
      }
      boolean plain = !value.isEmpty() && "-@".indexOf(value.charAt(0)) < 0;
      if (!plain || (given.put(name, value) != null && !name.equals("--lease"))) {
        return false;
      }
      if (name.equals("--lease")) {
        var lease = new LeaseName(value);
        if (command.leases.contains(lease)) {
          return false;
        }
        command.leases.add(lease);
      }
    }
    return !(given.containsKey("--create") && given.containsKey("--no-create"));
  }

  /** Whether what has to be there is. */
  private boolean apply() {
    String store = orVariable("--store", "CINCH_STORE");
    String log = given.get("--log");
    String server = orVariable("--server", "CINCH_SERVER");
    String machine = orVariable("--machine", "CINCH_MACHINE");
    if (store == null || log == null || (server == null && !command.leases.isEmpty())) {
      return false;
    }
    String grant = io.env().apply(GrantOption.VARIABLE);
    if (!plain(store) || !plain(server) || !plain(machine) || (grant != null && !plain(grant))) {
      return false;
    }
    if (grant != null && command.leases.isEmpty() && !grant.contains("/")) {
      return false;
    }
    command.log = new LogName(log);
    command.store = new StoreOptions();
    command.store.store = Path.of(store);
    command.store.machine = machine == null ? null : new MachineName(machine);
    command.store.clockOffset = Duration.ZERO;
    command.server = new LeaseOptions();
    if (server != null) {
      command.server.server = ServerAddresses.parse(server);
    }
    command.waiting = new WaitOption();
    command.waiting.wait = Duration.ZERO;
    command.json = given.containsKey("--json");
    command.durability = Durability.SYNC;
    command.create = new CreateOption();
    if (given.containsKey("--create") || given.containsKey("--no-create")) {
      command.create.create = given.containsKey("--create");
    }
    command.file = given.getOrDefault("FILE", "-");
    return true;
  }

  private @Nullable String orVariable(String option, String variable) {
    String value = given.get(option);
    return value != null ? value : io.env().apply(variable);
  }

  /** Picocli would put other values in place of some, and some are refused. */
  private static boolean plain(@Nullable String value) {
    return value == null || (!value.isEmpty() && value.indexOf('$') < 0);
  }
}
