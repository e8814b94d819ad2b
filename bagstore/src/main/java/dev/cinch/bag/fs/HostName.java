package dev.cinch.bag.fs;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;

/** What this machine is called. Stateless. */
public final class HostName {
  private HostName() {}

  /** The machine's name as it is. */
  public static String get() {
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
