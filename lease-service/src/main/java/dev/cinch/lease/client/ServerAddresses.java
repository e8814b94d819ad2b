package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.OneLine;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Where one lease service is: at one address, or at several of servers that are equal to each
 * other. As text they are separated by commas. Immutable.
 *
 * @param all 1 to {@link #MOST}, all different, without a slash at the end; the first is asked
 *     first
 */
@CheckReturnValue
public record ServerAddresses(List<URI> all) {
  /** The most addresses of one service. */
  public static final int MOST = 16;

  private static final int MAX_SHOWN = 60;

  /**
   * @throws IllegalArgumentException if one is no address of a lease service or is there twice, or
   *     if there are none or too many
   */
  public ServerAddresses {
    if (all.isEmpty() || all.size() > MOST) {
      throw new IllegalArgumentException(
          "a lease service has 1 to " + MOST + " addresses, not " + all.size());
    }
    var checked = new ArrayList<URI>();
    for (URI each : all) {
      URI address = checked(each);
      if (checked.contains(address)) {
        throw new IllegalArgumentException(
            "the address of a lease service is there twice: " + shown(address.toString()));
      }
      checked.add(address);
    }
    all = List.copyOf(checked);
  }

  /**
   * One address.
   *
   * @throws IllegalArgumentException if it is none of a lease service
   */
  public static ServerAddresses of(URI address) {
    return new ServerAddresses(List.of(address));
  }

  /**
   * Reads {@code http://a:8470,http://b:8470}.
   *
   * @throws IllegalArgumentException if that is not 1 to {@link #MOST} different addresses
   */
  public static ServerAddresses parse(String text) {
    var all = new ArrayList<URI>();
    for (String each : text.split(",", -1)) {
      if (each.isEmpty() && !text.isEmpty()) {
        throw new IllegalArgumentException(
            "an address of a lease service is missing beside a comma: " + shown(text));
      }
      try {
        all.add(URI.create(each));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(wrong(each), e);
      }
    }
    return new ServerAddresses(all);
  }

  private static URI checked(URI address) {
    String scheme = address.getScheme() == null ? "" : address.getScheme().toLowerCase(Locale.ROOT);
    if (HostPort.of(address).isEmpty()
        || !(scheme.equals("http") || scheme.equals("https"))
        || address.getRawQuery() != null
        || address.getRawFragment() != null) {
      throw new IllegalArgumentException(wrong(address.toString()));
    }
    String text = address.toString();
    return text.endsWith("/") ? URI.create(text.substring(0, text.length() - 1)) : address;
  }

  private static String wrong(String text) {
    return "not the address of a lease service: " + shown(text) + " (like http://127.0.0.1:8470)";
  }

  private static String shown(String text) {
    return OneLine.of(text, MAX_SHOWN);
  }

  /** Whether they are the same ones, in whatever order. */
  boolean sameAs(ServerAddresses other) {
    return all.size() == other.all.size() && all.containsAll(other.all);
  }

  /** Whether this one is among them, and there are others. */
  boolean addsTo(URI one) {
    return all.size() > 1 && all.contains(one);
  }

  /** The same ones, of which this one is the first if it is among them. */
  ServerAddresses from(URI first) {
    if (!all.contains(first)) {
      return this;
    }
    var turned = new ArrayList<URI>(all);
    turned.remove(first);
    turned.add(0, first);
    return new ServerAddresses(turned);
  }

  /** As it is read. */
  @Override
  public String toString() {
    return all.stream().map(URI::toString).collect(Collectors.joining(","));
  }
}
