package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.net.URI;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * To whom an address of HTTP leads. Machines have names for which {@link URI#getHost} knows no
 * host, with a {@code _} or with a digit behind a dot; so the server, its clients and whoever reads
 * an address in a store ask here. Immutable.
 *
 * @param host a name, an address, or one of IPv6 in brackets
 * @param port 0 to 65,535; -1 if none is given
 */
@CheckReturnValue
public record HostPort(String host, int port) {
  private static final int MOST_PORTS = 65_535;

  private static final Pattern TEXT =
      Pattern.compile(
          "([A-Za-z0-9_][A-Za-z0-9._-]*|\\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._~%-]+)?])(?::([0-9]{0,5}))?");

  /** No name ends with a number, so nobody can own one of these. */
  private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|\\[.*");

  /** Reads {@code host:port}; empty for anything else. */
  public static Optional<HostPort> parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    String digits = matcher.group(2) == null ? "" : matcher.group(2);
    int port = digits.isEmpty() ? -1 : Integer.parseInt(digits);
    return port > MOST_PORTS ? Optional.empty() : Optional.of(new HostPort(matcher.group(1), port));
  }

  /** Of an address of HTTP; empty for one that has no host, or more beside it, as a user. */
  public static Optional<HostPort> of(URI address) {
    return address.getRawAuthority() == null ? Optional.empty() : parse(address.getRawAuthority());
  }

  /** As {@link #of(URI)}; empty also for what is no address of HTTP. */
  public static Optional<HostPort> of(String address) {
    try {
      return of(URI.create(address));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** Whether it is an address, and no name. */
  public boolean isAddress() {
    return ADDRESS.matcher(host).matches();
  }

  /** The name in small letters, without the dot that may end it. */
  public String name() {
    String lower = host.toLowerCase(Locale.ROOT);
    return lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
  }

  /** Whether it leads to the machine itself, on each machine. */
  public boolean isLoopback() {
    return name().equals("localhost")
        || name().equals("[::1]")
        || (isAddress() && host.startsWith("127."));
  }
}
