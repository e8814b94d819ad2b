package dev.cinch.cli;

import dev.cinch.lease.OneLine;
import dev.cinch.lease.time.roughtime.ServerKeys;
import dev.cinch.lease.time.udp.RoughtimeClient;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Roughtime servers as they stand on command lines. Stateless. */
final class RoughtimeServers {
  private static final Pattern FORM =
      Pattern.compile("(\\[[0-9a-fA-F:.]+\\]|[^\\[\\]:=]{1,253}):(\\d{1,5})=(.{1,100})");
  private static final int MAX_PORT = 65_535;

  private RoughtimeServers() {}

  /**
   * Reads {@code HOST:PORT=KEY}, the key in base64 or as 64 hexadecimal digits.
   *
   * @throws IllegalArgumentException for anything else
   */
  static RoughtimeClient.Server parse(String text) {
    Matcher m = FORM.matcher(text);
    if (!m.matches() || Integer.parseInt(m.group(2)) > MAX_PORT) {
      throw new IllegalArgumentException(
          "not a Roughtime server: \""
              + OneLine.of(text, 80)
              + "\"; like time.example.com:2002=KEY, the key in base64 or hexadecimal");
    }
    String host = m.group(1);
    String name = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return new RoughtimeClient.Server(
        name, Integer.parseInt(m.group(2)), ServerKeys.parse(m.group(3)));
  }
}
