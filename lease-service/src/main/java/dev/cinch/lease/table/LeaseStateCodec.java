package dev.cinch.lease.table;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The state of a lease to bytes and back, for backends that keep or send it as one value.
 *
 * <pre>
 *   0  version: 2 (1)
 *   1  as {@link LeaseLayout} has it, sets of logs written out
 * </pre>
 *
 * A state has one encoding, and nothing else is read. The bytes hold the secret of the lease's
 * request: whoever sees them may act as its holder. Thread-safe.
 */
@CheckReturnValue
public final class LeaseStateCodec {
  private static final int VERSION = 2;

  /** The longest holder, in bytes of UTF-8, as in a witness. */
  private static final int MAX_HOLDER_BYTES = 255;

  private LeaseStateCodec() {}

  /**
   * The one encoding of a state.
   *
   * @throws IllegalArgumentException if there is none: there was no lease, or it has a holder or as
   *     many logs as no witness can name
   */
  public static byte[] encode(LeaseState state) {
    var unused = new LeaseName(state.name);
    if (state.generation < 1) {
      throw new IllegalArgumentException("generation " + state.generation + " of " + state.name);
    }
    requireUnicode(state.holder);
    if (state.holder.getBytes(StandardCharsets.UTF_8).length > MAX_HOLDER_BYTES) {
      throw new IllegalArgumentException("a holder of more than " + MAX_HOLDER_BYTES + " bytes");
    }
    requireFew(state.logs);
    requireFew(state.askedLogs);
    requireFew(state.fenceLogs);
    for (LeaseReport.Metadata m : state.recent) {
      requireUnicode(m.dataFile());
    }
    var out = new RowBytes();
    int unusedVersion = out.octet(VERSION);
    LeaseLayout.write(out, state, SharedLogs.NONE);
    return out.toArray();
  }

  /**
   * Reads a state that fills the array exactly.
   *
   * @throws MalformedLeaseStateException for anything but what {@link #encode} makes
   */
  public static LeaseState decode(byte[] bytes) throws MalformedLeaseStateException {
    if (bytes.length == 0 || bytes[0] != VERSION) {
      throw new MalformedLeaseStateException(
          bytes.length == 0
              ? "no bytes"
              : "version " + (bytes[0] & 0xFF) + ", this software knows " + VERSION);
    }
    var in = new RowBytes(bytes, 1);
    try {
      LeaseState state = LeaseLayout.read(in, SharedLogs.NONE);
      // What was read leniently is what was written, or it is refused.
      if (Arrays.equals(encode(state), bytes)) {
        return state;
      }
    } catch (IllegalArgumentException e) {
      throw new MalformedLeaseStateException(
          "at byte " + in.position() + " of " + bytes.length + ": " + e.getMessage());
    }
    throw new MalformedLeaseStateException(
        "its " + bytes.length + " bytes are not the one encoding of what they say");
  }

  private static void requireUnicode(String text) {
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
      throw new IllegalArgumentException("a text that is not Unicode");
    }
  }

  private static void requireFew(LogSet logs) {
    if (logs.ids().size() > Witness.MAX_LOGS) {
      throw new IllegalArgumentException(
          logs.ids().size() + " logs, more than " + Witness.MAX_LOGS);
    }
  }

  /** Bytes that should be the state of a lease are not. The message is one line and says why. */
  public static final class MalformedLeaseStateException extends Exception {
    private static final long serialVersionUID = 1;

    MalformedLeaseStateException(String what) {
      super("malformed state of a lease: " + what);
    }
  }
}
