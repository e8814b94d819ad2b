package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ClockOffException;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Shard;
import dev.cinch.lease.rules.LastWords;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Where instances of a lease service leave the little that must outlive them: their numbers, their
 * ceilings, and which leases they ended (rules L3, L9, L11); and what its users' clocks may be. The
 * store implements it; a service without a store has none and relies on quarantine alone.
 *
 * <p>Not thread-safe: one service calls it, from one thread at a time.
 */
@CheckReturnValue
public interface InstanceRegistry {
  /**
   * The end of a lease at one instance, which only one instance brings about: that one, to grant
   * the name on, or a later one, to resume the lease (rule L11).
   *
   * @param correlation of the lease
   * @param instance the number of the instance that signed for it
   */
  record End(Id correlation, long instance) {}

  /** The most bytes of last words. */
  int MAX_LAST_WORDS = LastWords.MAX_BYTES;

  /** The id of the store: a lease granted for another one is none here (rule L10). */
  Id store();

  /**
   * Compares the service's clock with the one that the store's users go by. A ceiling far ahead of
   * that is one that everybody has to wait for.
   *
   * @param wall the service's wall clock, read before this call; nanoseconds since the Unix epoch
   * @throws ClockOffException saying by how much, if they are further apart than is allowed
   * @throws IOException if that can't be found out
   */
  void checkClock(long wall) throws IOException;

  /**
   * How far the clocks of two machines may be apart at most whose instances have compared them with
   * {@link #checkClock} within a minute, nanoseconds, 0 or more (rule L18).
   */
  long clocksApartNanos();

  /**
   * How far ahead of the service's clock, or behind it, a timestamp may be that a holder was
   * allowed to give a message, nanoseconds, 0 or more: a watermark that far off is no mistake (rule
   * L2).
   */
  long timestampsOffNanos();

  /** The names that this instance has: all, unless several servers share the store (rule L16). */
  default Shard shard() {
    return Shard.WHOLE;
  }

  /**
   * Takes the next instance number, from 1, which no other instance has, and the place in the chain
   * of its shard.
   */
  long takeNumber() throws IOException;

  /**
   * Highest ceiling that any instance with a number below this one's has published, but for those
   * that have other shards of the same map; empty if none has. Called after {@link #takeNumber}.
   */
  OptionalLong highestEarlierCeiling() throws IOException;

  /**
   * Publishes that this instance will sign no expiry above {@code ceiling}, then looks for a later
   * instance of its shard, and for a later shard map.
   *
   * @param ceiling nanoseconds since the Unix epoch
   * @return whether this instance is still the latest; if not it must never sign again
   */
  boolean publishCeiling(long ceiling) throws IOException;

  /**
   * Number of the last earlier instance that had published a ceiling when {@link
   * #highestEarlierCeiling} listed them, after which this is called, and whose shard had a name;
   * empty if none had, or if that one was of several servers, whose leases nobody resumes.
   */
  OptionalLong lastEarlierInstance(LeaseName name);

  /**
   * Leaves the last words of this instance, which has stopped signing for good (rule L19): once.
   * After an error they may be there all the same, or come later.
   *
   * @param words at most {@link #MAX_LAST_WORDS} bytes
   */
  default void leave(byte[] words) throws IOException {
    throw new IOException("this registry keeps no last words");
  }

  /**
   * The last words of the last earlier instance that had published a ceiling when {@link
   * #highestEarlierCeiling} listed them, after which this is called: if they were made in this
   * store and it had the same shard of the same map; else empty (rule L19).
   */
  default Optional<byte[]> lastWords() throws IOException {
    return Optional.empty();
  }

  /**
   * Brings about the ends of leases, each unless another instance has: what was brought about
   * outlives a power cut before this returns (rule L11). Repeating it is no error.
   *
   * @return those that are this instance's, now or from before; the others are another's for good
   * @throws IOException if the outcome is unknown: none may be acted on
   */
  Set<End> end(List<End> ends) throws IOException;

  /**
   * Keeps that a lease is revoked, so that it outlives a power cut before this returns (rule L15).
   *
   * @return what stands there: the first one of this lease and instance
   */
  Revocation revoked(Revocation revocation) throws IOException;

  /** The keys whose witnesses of earlier instances count (rule F3). */
  TrustedKeys trustedKeys() throws IOException;

  /**
   * When the key ends with which this instance signs: no lease may outlast it. Signed time,
   * nanoseconds since the Unix epoch; {@link PublicKey#NEVER} of one without an end. Called after
   * {@link #takeNumber}.
   */
  default long keyEnd() throws IOException {
    return PublicKey.NEVER;
  }

  /** Looks for a later instance of its shard and for a later shard map, past every cache. */
  boolean isLatest() throws IOException;

  /**
   * What came after this instance, in words: the latest instance and where it is, like {@code
   * instance 5 at http://web-1:8470}; or the shard map.
   */
  String latest() throws IOException;
}
