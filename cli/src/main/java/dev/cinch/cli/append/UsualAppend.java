package dev.cinch.cli.append;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.cli.base.CreateOption;
import dev.cinch.cli.base.CredentialOptions;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.lease.GrantOption;
import dev.cinch.cli.lease.LeaseOptions;
import dev.cinch.cli.lease.WaitOption;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.http.ServerAddresses;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the command line of an append as it usually is. Picocli takes a fifth of a short command to
 * learn of the options by reflection; it reads whatever else there is, and tells what is wrong.
 */
public final class UsualAppend {
  private static final Set<String> VALUED =
      Set.of("--store", "--log", "--lease", "--server", "--machine", "--end");
  private static final Map<String, String> VARIABLES =
      Map.of("--store", "CINCH_STORE", "--server", "CINCH_SERVER", "--machine", "CINCH_MACHINE");

  private UsualAppend() {}

  /** The command with its options set; null if picocli is to read it. */
  public static @Nullable AppendCommand read(String[] args, Io io) {
    if (args.length == 0 || !args[0].equals("append")) {
      return null;
    }
    var command = new AppendCommand(io);
    try {
      return set(command, args, io) ? command : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  /** Whether all is known, given once, and needs no second look. */
  private static boolean set(AppendCommand command, String[] args, Io io) {
    var given = new HashMap<String, String>();
    for (int i = 1; i < args.length; i++) {
      String name = args[i];
      String value = name;
      int equals = name.indexOf('=');
      if (VALUED.contains(name)) {
        value = ++i < args.length ? args[i] : "";
      } else if (equals > 0 && VALUED.contains(name.substring(0, equals))) {
        value = name.substring(equals + 1);
        name = name.substring(0, equals);
      } else if (name.equals("--json")) {
        value = "yes";
      } else {
        name = "FILE";
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
    for (Map.Entry<String, String> variable : VARIABLES.entrySet()) {
      given.computeIfAbsent(variable.getKey(), name -> io.env().apply(variable.getValue()));
    }
    String store = given.get("--store");
    String log = given.get("--log");
    String server = given.get("--server");
    String machine = given.get("--machine");
    String grant = io.env().apply(GrantOption.VARIABLE);
    boolean leased = !command.leases.isEmpty();
    // Picocli would put other values in place of some, and an empty one is refused.
    boolean odd = given.values().stream().anyMatch(v -> v.isEmpty() || v.indexOf('$') >= 0);
    if (odd || store == null || log == null || (server == null && leased)) {
      return false;
    }
    if (CredentialOptions.VARIABLES.values().stream().anyMatch(v -> io.env().apply(v) != null)) {
      return false;
    }
    if (grant != null && (grant.isEmpty() || (!leased && !grant.contains("/")))) {
      return false;
    }
    command.log = new LogName(log);
    command.store = new StoreOptions();
    command.store.store = Path.of(store);
    command.store.machine = machine == null ? null : new MachineName(machine);
    command.store.clockOffset = Duration.ZERO;
    command.server = new LeaseOptions();
    command.server.server = server == null ? null : ServerAddresses.parse(server);
    command.waiting = new WaitOption();
    command.waiting.wait = Duration.ZERO;
    command.end = given.get("--end");
    command.json = given.containsKey("--json");
    command.durability = Durability.SYNC;
    command.create = new CreateOption();
    command.files = List.of(given.getOrDefault("FILE", "-"));
    return true;
  }
}
