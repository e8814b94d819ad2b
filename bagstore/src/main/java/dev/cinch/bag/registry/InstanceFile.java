package dev.cinch.bag.registry;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.HostPort;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What an instance of the lease service leaves in the file of its number: where it is, signed. It
 * is for people and for the next instance, which asks it whether it runs; nothing else goes by it.
 *
 * @param address where clients find it, like {@code http://web-1:8470}; of an instance that equal
 *     servers serve 2 to 16, with commas between them; at most 900 characters
 * @param machine the name of the machine on which it runs
 */
public record InstanceFile(String address, String machine) {
  /** The most that is read of such a file, bytes. */
  public static final int MAX_BYTES = 1_280;

  /** Of all addresses and the commas between them. */
  private static final int MAX_LENGTH = 900;

  /** The words of an instance that nobody has to find. */
  public static final String NOWHERE = "-";

  private static final String ONE = "https?://[!-~&&[^,?#]]{1,500}";
  private static final Pattern ADDRESS = Pattern.compile(ONE + "(," + ONE + "){0,15}");

  /**
   * @throws IllegalArgumentException if that is no address that a line of text can have
   */
  public InstanceFile {
    if (address.length() > MAX_LENGTH
        || !ADDRESS.matcher(address).matches()
        || !Arrays.stream(address.split(",")).allMatch(one -> HostPort.of(one).isPresent())) {
      throw new IllegalArgumentException(
          "not an address for others: " + address + " (like http://web-1:8470)");
    }
    if (!machine.matches("[!-~]{1,100}")) {
      throw new IllegalArgumentException("not a machine's name: " + machine);
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

  /**
   * A line as it stands in a file.
   *
   * @param words what is signed: address and machine, or {@link #NOWHERE}
   * @param signature of these, with the file's name before them
   */
  public record Line(String words, String signature) {
    public byte[] encode() {
      return (words + " " + signature + "\n").getBytes(UTF_8);
    }

    /** Reads a line; empty for whatever else stands there, and for one that was cut short. */
    public static Optional<Line> decode(byte[] bytes) {
      String text = new String(bytes, UTF_8);
      int last = text.lastIndexOf(' ');
      return text.endsWith("\n") && last > 0
          ? Optional.of(
              new Line(text.substring(0, last), text.substring(last + 1, text.length() - 1)))
          : Optional.empty();
    }

    /** Where that is; empty if it is nowhere, or no address. */
    public Optional<InstanceFile> where() {
      String[] parts = words.split(" ", -1);
      try {
        return parts.length == 2
            ? Optional.of(new InstanceFile(parts[0], parts[1]))
            : Optional.empty();
      } catch (IllegalArgumentException e) {
        return Optional.empty();
      }
    }
  }

  /** The words of an address. */
  public String words() {
    return address + " " + machine;
  }
}
