package dev.cinch.cli;

import dev.cinch.bag.layout.MachineName;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** The name under which this machine writes unless told otherwise. */
final class MachineNames {
  private static final int LONGEST = 63;

  private MachineNames() {}

  static MachineName ofHost() {
    return sanitised(hostName());
  }

  /**
   * Lower case, with a dash for whatever a machine name can't have, and without what none begins
   * with.
   */
  static MachineName sanitised(String host) {
    String name =
        host.toLowerCase(Locale.ROOT)
            .replaceAll("[^a-z0-9._-]", "-")
            .replaceFirst("^([^a-z0-9]|tmp-)+", "");
    return new MachineName(
        name.isEmpty() ? "machine" : name.substring(0, Math.min(LONGEST, name.length())));
  }

  /** The machine's name as it is. */
  static String hostName() {
    try {
      // The kernel knows; asking for the local address may ask a name server, for seconds.
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    } catch (IOException e) {
      try {
        return InetAddress.getLocalHost().getHostName();
      } catch (IOException unknown) {
        return "machine";
      }
    }
  }
}
