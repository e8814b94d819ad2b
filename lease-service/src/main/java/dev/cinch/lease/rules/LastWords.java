package dev.cinch.lease.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.rules.LeaseStateCodec.MalformedLeaseStateException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;

/**
 * What an instance that has ended leaves to the next one (rule L19): the last leases of the names
 * that it lists, and a time by which all that it, and those before it, ever signed for other names
 * has expired. They hold no secret of a grant. Immutable and thread-safe.
 *
 * <pre>
 *   0  version: 1 (1)
 *   1  when it ended, through when others expired, the longest lease (8 each)
 *  25  for each name, in ascending order: a length (4), the state as {@link LeaseStateCodec} has it
 * </pre>
 *
 * Numbers have the most significant byte first.
 *
 * @param endedAt its signed time when it had stopped signing, nanoseconds since the Unix epoch
 * @param othersUpTo no lease of a name that is not listed was signed with a later expiry,
 *     nanoseconds since the Unix epoch; {@link Long#MIN_VALUE} if there was none
 * @param longestNanos the longest lease that was granted, here or before; nanoseconds
 * @param leases in ascending order of names
 */
@CheckReturnValue
public record LastWords(long endedAt, long othersUpTo, long longestNanos, List<LeaseState> leases) {
  /** The most bytes: some 60,000 leases. An instance with more leaves none. */
  public static final int MAX_BYTES = 1 << 23;

  private static final byte VERSION = 1;
  private static final int HEAD = 1 + 3 * Long.BYTES;

  public LastWords {
    leases = List.copyOf(leases);
  }

  /** Collects them. Not thread-safe. */
  public static final class Draft {
    private final List<byte[]> states = new ArrayList<>();
    private int size = HEAD;

    /**
     * Lists a lease that was {@linkplain LeaseState#leave left}.
     *
     * @return false if there is no room for it: then there are no last words
     */
    public boolean add(LeaseState lease) {
      byte[] state = LeaseStateCodec.encode(lease);
      if (size + Integer.BYTES + state.length > MAX_BYTES) {
        return false;
      }
      size += Integer.BYTES + state.length;
      states.add(state);
      return true;
    }

    /** The bytes of all. */
    public byte[] finish(long endedAt, long othersUpTo, long longestNanos) {
      ByteBuffer out = ByteBuffer.allocate(size).put(VERSION);
      out.putLong(endedAt).putLong(othersUpTo).putLong(longestNanos);
      states.forEach(state -> out.putInt(state.length).put(state));
      return out.array();
    }
  }

  /** Reads what a {@link Draft} made; empty for anything else, which an instance passes over. */
  public static Optional<LastWords> decode(byte[] bytes) {
    try {
      ByteBuffer in = ByteBuffer.wrap(bytes);
      if (in.get() != VERSION) {
        return Optional.empty();
      }
      long endedAt = in.getLong();
      long othersUpTo = in.getLong();
      long longest = in.getLong();
      var leases = new ArrayList<LeaseState>();
      var names = new HashSet<LeaseName>();
      while (in.hasRemaining()) {
        int length = in.getInt();
        if (length < 0 || length > in.remaining()) {
          return Optional.empty();
        }
        var state = new byte[length];
        in.get(state);
        LeaseState lease = LeaseStateCodec.decode(state);
        if (!lease.isLeft() || !names.add(lease.name())) {
          return Optional.empty();
        }
        leases.add(lease);
      }
      return Optional.of(new LastWords(endedAt, othersUpTo, longest, leases));
    } catch (BufferUnderflowException | MalformedLeaseStateException e) {
      return Optional.empty();
    }
  }
}
