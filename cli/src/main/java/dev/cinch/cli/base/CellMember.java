package dev.cinch.cli.base;

import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.server.LeaseServer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A node of a cell, as it is named on the command line.
 *
 * @param host of its address for the other nodes
 * @param port of that
 * @param http where clients find it
 */
public record CellMember(String host, int port, String http) {
  private static final Pattern TEXT =
      Pattern.compile("(\\[[0-9a-fA-F:.%]+\\]|[^\\[\\]:=]+):(\\d{1,5})(?:=(.+))?");
  private static final int MOST_PORTS = 65_535;

  /**
   * Reads {@code 10.0.0.1:7420} or {@code [::1]:7420=http://web-1:8470}.
   *
   * @throws IllegalArgumentException if it is no such thing
   */
  static CellMember parse(String text) {
    Matcher m = TEXT.matcher(text);
    int port = m.matches() ? Integer.parseInt(m.group(2)) : 0;
    if (port < 1 || port > MOST_PORTS) {
      throw new IllegalArgumentException(
          "not a node: \"%s\"; like 10.0.0.1:7420 or 10.0.0.1:7420=http://web-1:8470"
              .formatted(OneLine.of(text, 60)));
    }
    String host = m.group(1);
    String http =
        m.group(3) == null ? "http://" + host + ":" + LeaseServer.DEFAULT_PORT : m.group(3);
    return new CellMember(host.replaceAll("[\\[\\]]", ""), port, http);
  }

  public CellFile.Node node(int id) {
    return new CellFile.Node(id, host, port, http);
  }
}
