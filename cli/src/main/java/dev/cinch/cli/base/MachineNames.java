package dev.cinch.cli.base;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.cinch.bag.fs.HostName;
import dev.cinch.bag.model.MachineName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The name under which this machine writes unless told otherwise. */
public final class MachineNames {
  private MachineNames() {}

  public static MachineName ofHost() {
    return MachineName.ofHost(hostName());
  }

  /**
   * Under which names other machines reach this one: its own, that up to the first dot, and this in
   * each domain in which the machine looks names up. No name server is asked.
   */
  public static Set<String> known() {
    var names = new LinkedHashSet<String>();
    String own = hostName();
    String first = own.replaceFirst("[.].*", "");
    names.add(own);
    names.add(first);
    for (String domain : domains()) {
      names.add(first + "." + domain);
    }
    return names;
  }

  private static List<String> domains() {
    try {
      return Files.readAllLines(Path.of("/etc/resolv.conf"), ISO_8859_1).stream()
          .map(line -> line.strip().split("\\s+"))
          .filter(words -> words[0].equals("search") || words[0].equals("domain"))
          .flatMap(words -> Arrays.stream(words).skip(1))
          .toList();
    } catch (IOException e) {
      return List.of();
    }
  }

  /** The machine's name as it is. */
  public static String hostName() {
    return HostName.get();
  }
}
