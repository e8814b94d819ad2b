package dev.cinch.bag.format;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.HostPort;
import java.net.URI;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What an instance of the lease service leaves in the file of its number: where it is. It is for
 * people and for the next instance, which asks it whether it runs; nothing else goes by it.
 *
 * @param address where clients find it, like {@code http://web-1:8470}; of an instance that equal
 *     servers serve 2 to 16, with commas between them; at most 900 characters
 * @param machine the name of the machine on which it runs
 */
public record InstanceFile(String address, String machine) {
  /** The most that is read of such a file, bytes. */
  public static final int MAX_BYTES = 1_024;

  /** Of all addresses and the commas between them. */
  private static final int MAX_LENGTH = 900;

  private static final String ONE = "https?://[!-~&&[^,?#]]{1,500}";
  private static final Pattern ADDRESS = Pattern.compile(ONE + "(," + ONE + "){0,15}");

  /**
   * @throws IllegalArgumentException if that is no address that a line of text can have
   */
  public InstanceFile {
    if (address.length() > MAX_LENGTH
        || !ADDRESS.matcher(address).matches()
        || !Arrays.stream(address.split(",")).allMatch(InstanceFile::isRead)) {
      throw new IllegalArgumentException(
          "not an address for others: " + address + " (like http://web-1:8470)");
    }
    if (!machine.matches("[!-~]{1,100}")) {
      throw new IllegalArgumentException("not a machine's name: " + machine);
    }
  }

  /** Whether clients and the next instance find a host in it. */
  private static boolean isRead(String address) {
    try {
      return HostPort.of(URI.create(address)).isPresent();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private List<String> addresses() {
    return List.of(address.split(","));
  }

  /** Whether all addresses of another one are here. */
  public boolean names(InstanceFile other) {
    return addresses().containsAll(other.addresses());
  }

  /** With the addresses of another one behind these; empty if they are too many, or too long. */
  public Optional<InstanceFile> with(InstanceFile other) {
    var all = new LinkedHashSet<>(addresses());
    all.addAll(other.addresses());
    try {
      return Optional.of(new InstanceFile(String.join(",", all), machine));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** One line. */
  public byte[] encode() {
    return (address + " " + machine + "\n").getBytes(UTF_8);
  }

  /** Reads such a line; empty for whatever else stands there, and for one that was cut short. */
  public static Optional<InstanceFile> decode(byte[] bytes) {
    String text = new String(bytes, UTF_8);
    String[] words = text.substring(0, Math.max(0, text.length() - 1)).split(" ", -1);
    if (!text.endsWith("\n") || words.length != 2) {
      return Optional.empty();
    }
    try {
      return Optional.of(new InstanceFile(words[0], words[1]));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
