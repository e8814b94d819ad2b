package dev.cinch.lease.http;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** Whose connection it is, as far as an address tells. */
final class Peers {
  /** What one user of IPv6 has at least: all addresses with the same first half. */
  private static final int NETWORK_BYTES = 8;

  private Peers() {}

  /** The same text for all addresses of one peer. */
  static String of(@Nullable SocketAddress address) {
    if (address instanceof InetSocketAddress there && there.getAddress() != null) {
      InetAddress ip = there.getAddress();
      byte[] bytes = ip.getAddress();
      return HexFormat.of()
          .formatHex(ip instanceof Inet6Address ? Arrays.copyOf(bytes, NETWORK_BYTES) : bytes);
    }
    return "";
  }
}
