package dev.cinch.bag.close;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads records upwards, each checked on both sides: it follows the record before, or what the
 * checkpoint names there, and the next one, if there is one, names its digest (rule H2). Reads no
 * record twice. Not thread-safe.
 *
 * <p>Does not ask whether what it read was retired meanwhile: its user does, of a number of them at
 * once, before it believes them, or an error.
 */
@CheckReturnValue
public final class ChainWalk {
  private final HorizonChain chain;
  private final Link tip;
  private final @Nullable Link known;

  /** The number of the record that is given next. */
  private long next;

  /** Where the record before that one stands; null until it was looked at. */
  private @Nullable ChainPlace before;

  /** The record that is given next, and follows the one before; null if it was not read yet. */
  private @Nullable Link ahead;

  /**
   * @param tip the last record, as far as the walk goes
   * @param first the number of the first record to give; 1, or above a checkpoint's
   */
  public ChainWalk(HorizonChain chain, Link tip, long first) {
    this(chain, tip, null, first, null);
  }

  /** As {@link #ChainWalk(HorizonChain, Link, long)}, where a segment says what stands before. */
  public ChainWalk(HorizonChain chain, Link tip, ChainPlace before) {
    this(chain, tip, null, before.number() + 1, before);
  }

  private ChainWalk(
      HorizonChain chain, Link tip, @Nullable Link known, long first, @Nullable ChainPlace before) {
    this.chain = chain;
    this.tip = tip;
    this.known = known;
    this.next = first;
    this.before = before;
  }

  /** Checks one record that was read against those beside it. */
  static void check(HorizonChain chain, Link tip, Link link) throws IOException {
    Optional<Link> unused = new ChainWalk(chain, tip, link, link.record().number(), null).next();
  }

  /** The record below one, which names it (rule H2). */
  public static Link below(HorizonChain chain, Link link) throws IOException {
    long number = link.record().number() - 1;
    Link below = chain.read(number);
    place(below).precedes(link.record(), chain.path(number + 1), chain.path(number));
    return below;
  }

  /**
   * The next record.
   *
   * @return empty behind the last one
   * @throws dev.cinch.bag.format.DamagedException if it, or the one after it, is missing or
   *     damaged, or if they don't follow each other
   */
  public Optional<Link> next() throws IOException {
    if (next > tip.record().number()) {
      return Optional.empty();
    }
    if (before == null) {
      before = placeBefore();
    }
    Link link = ahead != null ? ahead : following(before);
    ChainPlace place = place(link);
    ahead = next < tip.record().number() ? following(place) : null;
    before = place;
    next++;
    return Optional.of(link);
  }

  private ChainPlace placeBefore() throws IOException {
    if (next == 1) {
      return ChainPlace.START;
    }
    Link link = read(next - 1);
    Optional<Checkpoint> line = chain.checkpoint();
    if (line.isPresent() && line.get().number() == next - 1) {
      ChainPlace.of(line.get())
          .is(link.record(), link.digest(), chain.path(next - 1), "the checkpoint");
    }
    return place(link);
  }

  private static ChainPlace place(Link link) {
    return ChainPlace.of(link.record(), link.digest());
  }

  private Link following(ChainPlace place) throws IOException {
    long number = place.number() + 1;
    Link link = read(number);
    place.precedes(link.record(), chain.path(number), chain.path(Math.max(1, place.number())));
    return link;
  }

  private Link read(long number) throws IOException {
    if (number == tip.record().number()) {
      return tip;
    }
    if (known != null && number == known.record().number()) {
      return requireNonNull(known);
    }
    return chain.readKept(number);
  }
}
