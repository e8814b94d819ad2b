package dev.cinch.bag.close;

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
  private final @Nullable Link tip;
  private final long last;
  private final boolean goesOn;

  private long next;

  /** Where the record before that one stands; null if it was not looked at, or nobody knows. */
  private @Nullable ChainPlace before;

  private boolean unknown;

  /** The record that is given next; null if it was not read yet. */
  private @Nullable Link link;

  /** Whether it was found to follow the one before. */
  private boolean follows;

  /**
   * @param tip the last record, as far as the walk goes
   * @param first the number of the first record to give; 1, or above a checkpoint's
   */
  public ChainWalk(HorizonChain chain, Link tip, long first) {
    this(chain, tip, tip.record().number(), first, null, false);
  }

  /** As {@link #ChainWalk(HorizonChain, Link, long)}, where a segment says what stands before. */
  public ChainWalk(HorizonChain chain, Link tip, ChainPlace before) {
    this(chain, tip, tip.record().number(), before.number() + 1, before, false);
  }

  private ChainWalk(
      HorizonChain chain,
      @Nullable Link tip,
      long last,
      long first,
      @Nullable ChainPlace before,
      boolean goesOn) {
    this.chain = chain;
    this.tip = tip;
    this.last = last;
    this.next = first;
    this.before = before;
    this.goesOn = goesOn;
  }

  /**
   * One that can {@link #skip} what it fails at; a record is given then also before one that can't
   * be read.
   */
  public static ChainWalk goingOn(HorizonChain chain, Link tip, long first) {
    return new ChainWalk(chain, tip, tip.record().number(), first, null, true);
  }

  /** The same, where the last record may be one that can't be read. */
  public static ChainWalk goingOn(HorizonChain chain, long last, ChainPlace before) {
    return new ChainWalk(chain, null, last, before.number() + 1, before, true);
  }

  /** Checks one record that was read against those beside it. */
  static void check(HorizonChain chain, Link tip, Link link) throws IOException {
    var walk = new ChainWalk(chain, tip, link.record().number());
    walk.link = link;
    Optional<Link> unused = walk.next();
  }

  /** The record below one, which names it (rule H2). */
  public static Link below(HorizonChain chain, Link link) throws IOException {
    long number = link.record().number() - 1;
    Link below = chain.readKept(number);
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
    if (next > last) {
      return Optional.empty();
    }
    if (before == null && !unknown) {
      before = placeBefore();
    }
    Link given = link == null ? read(next) : link;
    link = given;
    if (!follows && before != null) {
      precedes(before, given);
    }
    follows = true;
    ChainPlace place = place(given);
    Link after = next == last ? null : after();
    if (after != null) {
      precedes(place, after);
    }
    before = place;
    link = after;
    follows = after != null;
    next++;
    return Optional.of(given);
  }

  /** The record behind the next one. */
  private @Nullable Link after() throws IOException {
    if (!goesOn || tip != null && next + 1 == last) {
      return read(next + 1);
    }
    try {
      return chain.read(next + 1);
    } catch (IOException e) {
      return null; // it fails when it is its turn
    }
  }

  /** The number of the record that is given next. */
  public long number() {
    return next;
  }

  /**
   * Goes on behind what {@link #next} failed at; what comes then is not held against that.
   *
   * @return the record that it could not give, if that can be read
   */
  public Optional<Link> skip() {
    var skipped = Optional.ofNullable(link);
    if (before != null || unknown) {
      next++;
    } // else it is the one before the first that fails
    before = null;
    unknown = true;
    link = null;
    follows = false;
    return skipped;
  }

  private ChainPlace placeBefore() throws IOException {
    if (next == 1) {
      return ChainPlace.START;
    }
    Link below = read(next - 1);
    Optional<Checkpoint> line = chain.checkpoint();
    if (line.isPresent() && line.get().number() == next - 1) {
      ChainPlace.of(line.get())
          .is(below.record(), below.digest(), chain.path(next - 1), "the checkpoint");
    }
    return place(below);
  }

  private static ChainPlace place(Link link) {
    return ChainPlace.of(link.record(), link.digest());
  }

  private void precedes(ChainPlace place, Link following) throws IOException {
    long number = place.number() + 1;
    place.precedes(following.record(), chain.path(number), chain.path(Math.max(1, place.number())));
  }

  private Link read(long number) throws IOException {
    return tip != null && number == last ? tip : chain.readKept(number);
  }
}
