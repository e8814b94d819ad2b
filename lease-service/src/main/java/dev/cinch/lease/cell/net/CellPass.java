package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.cell.Message;
import java.security.GeneralSecurityException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What a client of a cell may propose. Nodes need no list of passes: a client's datagrams say what
 * its pass says, and its key is made of that and the cell's key. So a pass that says more has
 * another key. Immutable and thread-safe.
 *
 * <p>The only right is {@code acquire}. It is power over all leases whose names begin so: nodes
 * tell a proposer all of a lease, its secret id too, and accept what ends it.
 *
 * @param name for people, 1 to 40 of {@code A-Z a-z 0-9 . _ @ -}
 * @param end from when on it counts no more, by nodes' wall clocks; whole seconds
 * @param permissions 1 or more
 */
@CheckReturnValue
public record CellPass(String name, Instant end, List<Permission> permissions) {
  /** What a pass says at most; it is in each datagram of the client. */
  static final int LONGEST = 255;

  private static final byte[] PURPOSE = "cinch cell pass 1\n".getBytes(US_ASCII);

  /**
   * @throws IllegalArgumentException if one is out of its range, or all together are too long; one
   *     line
   */
  public CellPass {
    permissions = List.copyOf(permissions);
    if (!name.matches("[A-Za-z0-9._@-]{1,40}")) {
      throw new IllegalArgumentException(
          "a pass's name has 1 to 40 of letters, digits and . _ @ -");
    }
    if (permissions.isEmpty()
        || !permissions.stream().allMatch(each -> each.right() == Right.ACQUIRE)) {
      throw new IllegalArgumentException("a pass has the right acquire, and no other");
    }
    if (end.getNano() != 0) {
      throw new IllegalArgumentException("a pass ends with a whole second, not at " + end);
    }
    if (text(name, end, permissions).length() > LONGEST) {
      throw new IllegalArgumentException(
          "a pass has at most " + LONGEST + " bytes: give it fewer prefixes, or shorter ones");
    }
  }

  /** As datagrams and files have it, ASCII: like {@code ci 2027-01-01T00:00:00Z acquire:ci/}. */
  String text() {
    return text(name, end, permissions);
  }

  private static String text(String name, Instant end, List<Permission> permissions) {
    var words = new ArrayList<>(List.of(name, end.toString()));
    permissions.forEach(each -> words.add(each.toString()));
    return String.join(" ", words);
  }

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if it is none
   */
  static CellPass parse(String text) {
    String[] words = text.split(" ", -1);
    if (words.length < 3) {
      throw new IllegalArgumentException("no pass of a client of a cell");
    }
    try {
      var rights = Arrays.stream(words).skip(2).map(Permission::parse).toList();
      return new CellPass(words[0], Instant.parse(words[1]), rights);
    } catch (DateTimeException e) {
      throw new IllegalArgumentException("no time: " + words[1], e);
    }
  }

  /** Its key, 32 bytes. */
  byte[] key(byte[] cellKey) {
    Mac mac = mac(cellKey);
    mac.update(PURPOSE);
    return mac.doFinal(text().getBytes(US_ASCII));
  }

  static Mac mac(byte[] key) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has HmacSHA256", e);
    }
  }

  /** The client, for messages, and what it may at a time. */
  Caller caller(long wallNanos) {
    return countsAt(wallNanos)
        ? new Caller(shown(), null, permissions)
        : new Caller(shown() + ", which ended at " + end, null, List.of());
  }

  String shown() {
    return "the pass \"" + name + "\"";
  }

  /** Whether it still counts. */
  boolean countsAt(long wallNanos) {
    return wallNanos / 1_000_000_000 < end.getEpochSecond();
  }

  /** Whether a client that has it may send a message. */
  boolean permits(Message message) {
    String name = new String(message.name().toArray(), US_ASCII);
    String beginning = message instanceof Message.Names names ? text(names) : name;
    return permissions.stream().anyMatch(each -> beginning.startsWith(each.prefix()));
  }

  private static String text(Message.Names names) {
    return new String(names.prefix().toArray(), US_ASCII);
  }
}
