package dev.cinch.bag.read;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.file.Evidence.Source;
import dev.cinch.bag.file.LeaseSet;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.read.LogReader.Objection;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.store.LogContext;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Walks the messages of a log in a range, in order, with rule F3 applied: those that are settled by
 * its last {@link #look}, and a live one also those that are not settled yet (rule H4). Holds at
 * most one settled file open, or the files of one bucket. Not thread-safe.
 *
 * <p>It reads by a {@link View}. What the view has may be retired, or expire, at any moment: then
 * it takes another view and goes on behind the last message that it gave. The order is the same.
 */
@CheckReturnValue
public final class LogCursor implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(LogCursor.class);

  /** How often files that are listed may be gone, by one look; each time is another writer's. */
  private static final int MOST_TAKEN_BACK = 16;

  /** Of so many looks one lists all, though the one before seems to hold still. */
  private static final int LOOKS = 32;

  private final LogContext log;
  private final HorizonChain chain;
  private final long from;
  private final long to;
  private final Freshness freshness;
  private final Objection objection;
  private final boolean required;
  private final @Nullable OpenBuckets open;

  /** Told of damage, which then ends nothing; null: it ends the read. */
  private final Evidence.@Nullable Sink audit;

  private @Nullable OpenFiles shared;
  private @Nullable View view;
  private int looks;
  private @Nullable SettledFiles files;
  private @Nullable Source source;
  private @Nullable Evidence current;

  /** All that is settled before this was given, but for what comes behind the last message. */
  private long at;

  private long lastTimestamp;
  private @Nullable DataFileName lastFile;
  private long lastPosition;

  /** What comes now begins again, in the same order: the messages up to the last are skipped. */
  private boolean again;

  /** Whether all was given once that there was, or something: what follows may not expire. */
  private boolean begun;

  /** Whether something was given that may lack others before it yet. */
  private boolean beyond;

  /** How often a listed file was gone, since the last look or the last view. */
  private int takenBack;

  private long whole = Long.MIN_VALUE;
  private final Map<String, DamagedException> lost = new LinkedHashMap<>();

  /**
   * @param from nanoseconds since the Unix epoch
   * @param to nothing from this time on is given
   * @param live whether to give also what is not settled
   */
  LogCursor(
      LogContext log, long from, long to, Freshness freshness, boolean live, Objection objection) {
    this(log, from, to, freshness, live, objection, null);
  }

  /**
   * @param audit told of damage, behind which it goes on; then messages are given whether a witness
   *     permits them or not. Null for all others
   */
  LogCursor(
      LogContext log,
      long from,
      long to,
      Freshness freshness,
      boolean live,
      Objection objection,
      Evidence.@Nullable Sink audit) {
    this.log = log;
    this.chain = new HorizonChain(log);
    this.from = from;
    this.to = to;
    this.at = from;
    this.freshness = freshness;
    this.objection = objection;
    this.begun = objection.needsAll();
    this.audit = audit;
    this.required =
        audit == null && log.store().settings().leases() == StoreSettings.Leases.REQUIRED;
    this.open = live ? new OpenBuckets(log) : null;
  }

  /**
   * Looks how far the log is settled by now. Before the first look nothing is given; it fails where
   * records are missing, also if there is nothing left to give.
   *
   * @return the time through which it is settled; {@link Long#MIN_VALUE} if nothing is
   */
  @CanIgnoreReturnValue
  public long look() throws IOException {
    takenBack = 0;
    try {
      if (view == null || ++looks % LOOKS == 0 || !chain.seemsLast(view)) {
        take(chain.view(freshness));
      }
    } catch (DamagedException | NoSuchFileException e) {
      throw log.unlessReplaced(e);
    }
    return settled();
  }

  /** The time through which the log is settled, by the last look. */
  public long settled() {
    return view == null ? Long.MIN_VALUE : view.settled();
  }

  /**
   * The time to go on from later, once all was given: of what lies before it all that exists was
   * given, as settled, and nothing else.
   */
  public long whole() {
    return whole;
  }

  /** How far the log was settled when the record was linked that settles the current message. */
  long settledBefore() {
    return requireNonNull(files).settledBefore();
  }

  LogContext log() {
    return log;
  }

  LogName name() {
    return log.layout().name();
  }

  /** Has its file closed while others are read that share the same. */
  void share(OpenFiles with) {
    shared = with;
  }

  /** The message that was given last; null before the first one and behind the last one. */
  @Nullable Message current() {
    return current;
  }

  /**
   * The next message.
   *
   * @return valid until the call after it; null if there is none by the last look
   * @throws ExpiredException if messages expired behind those that were given
   */
  public @Nullable Evidence next() throws IOException {
    while (true) {
      try {
        current = step();
        begun |= current == null;
        return current;
      } catch (IOException e) {
        lookAgain(e);
      }
    }
  }

  /** What failed may have been settled, retired or expired since the view was taken. */
  private void lookAgain(IOException e) throws IOException {
    boolean settled = isSettled();
    boolean reading = source != null;
    OpenBuckets buckets = settled || !reading ? null : open;
    closeSource();
    if (e instanceof ExpiredException) {
      throw e;
    }
    if (e instanceof ForeignEntryException foreign && buckets != null) {
      buckets.leaveOut(foreign);
      return;
    }
    View before = view;
    try {
      View now = chain.view(freshness);
      // The record that settles an open bucket may be in no cache of this machine yet.
      Patience wait = settled ? null : log.storage().patience(log.layout().records());
      while (now.equals(before)) {
        if (audit != null && e instanceof DamagedException damaged) {
          audit.damaged(damaged);
          goBehind(reading);
          return;
        }
        if (wait == null || !wait.again()) {
          if (!settled && e instanceof NoSuchFileException && takenBack++ < MOST_TAKEN_BACK) {
            goBack(); // nothing swept it (rule R0): its writer took it back, empty
            return;
          }
          throw e;
        }
        now = chain.view(freshness);
      }
      files = null;
      takenBack = 0;
      goBack();
      take(now);
    } catch (DamagedException | NoSuchFileException failure) {
      throw log.unlessReplaced(failure);
    }
  }

  /** Behind what is damaged: the file that was read, or what could not be opened. */
  private void goBehind(boolean reading) throws IOException {
    SettledFiles settled = requireNonNull(files);
    if (!reading) {
      settled.skip();
    }
    at = settled.at();
  }

  /** To the last message that was given: what comes now may lie before it, too. */
  private void goBack() {
    again = true;
    if (lastFile != null) {
      at = Math.max(at, lastTimestamp);
    }
    if (open != null) {
      open.again();
    }
  }

  private void take(View now) throws IOException {
    View before = view;
    if (now.tip().isEmpty() && open == null) {
      new UnrecordedLocks(log).refuseAny();
    } else if (now.tip().isPresent() && (before == null || !now.tip().equals(before.tip()))) {
      chain.durable(now.tip().get());
    }
    if (files != null && !now.equals(before)) {
      files = files.goOn(now);
    }
    view = now;
    if (!beyond) { // else it was behind some of this already, and did not give it
      whole = now.settled();
    }
  }

  private boolean isSettled() {
    return at < Math.min(to, settled());
  }

  private @Nullable Evidence step() throws IOException {
    View now = view;
    if (now == null) {
      return null;
    }
    while (true) {
      Source from = source;
      if (from == null && !openNext()) {
        return null;
      }
      Evidence m = from == null ? null : from.pull();
      if (m != null && isWanted(m)) {
        return m;
      }
      if (m == null && from != null) {
        ended(from);
      }
    }
  }

  /** Opens what follows; false if there is nothing more by this view. */
  private boolean openNext() throws IOException {
    View now = view;
    if (now == null) {
      return false;
    }
    if (isSettled()) {
      SettledFiles settled = files;
      if (settled == null) {
        settled = new SettledFiles(log, chain, now, at, audit);
        files = settled;
      }
      expire(settled.kept(), now.floor());
      source = settled.next(Math.min(to, now.settled()), shared);
      if (source == null) {
        at = settled.at();
      }
      return true;
    }
    return open != null && openLive(open, now);
  }

  /** What lies before a floor is not kept; where something was given, that leaves a hole (R4). */
  private void expire(long kept, Floor floor) throws ExpiredException {
    if (kept > at && floor.messages() > 0 && begun && audit == null) {
      throw new ExpiredException(name(), floor.to());
    }
    at = kept;
  }

  private boolean openLive(OpenBuckets buckets, View before) throws IOException {
    if (!buckets.isFound()) {
      if (buckets.isEnd()) {
        return false;
      }
      buckets.find(Math.max(before.settled(), reached()), to);
      View now = chain.view(freshness); // after the listing
      take(now);
      if (now.settled() > before.settled()) {
        buckets.settled(now.settled());
        again = true; // some of it may have been given before it was settled
        at = Math.max(before.settled(), reached());
        files = null;
      }
      return true;
    }
    beyond = true;
    source = buckets.next(before);
    return true;
  }

  /** No message before this is still to be given; nanoseconds. */
  private long reached() {
    return lastFile == null ? from : Math.max(from, lastTimestamp);
  }

  private void ended(Source from) throws IOException {
    note(from);
    closeSource();
    if (files != null && isSettled()) {
      at = files.at();
    }
  }

  private void note(Source from) {
    for (DamagedException e : from.lost()) {
      if (lost.putIfAbsent("" + e.getMessage(), e) == null) {
        if (audit != null) {
          audit.damaged(e);
        } else if (lost.size() > 1) {
          LOG.warn("{}", e.getMessage()); // the first one is thrown
        }
      }
    }
  }

  /** Whether it is in the range, was not given before, and exists. */
  private boolean isWanted(Evidence m) {
    long timestamp = m.timestamp();
    if (timestamp < from || timestamp >= to) {
      return false;
    }
    if (again) {
      if (isDone(m)) {
        return false;
      }
      again = false;
    }
    begun = true;
    lastTimestamp = timestamp;
    lastFile = m.file();
    lastPosition = m.position();
    if (required) {
      LeaseSet set = m.leaseSet();
      String why = set == null ? LogReader.NAMES_NO_LEASE : set.objection(timestamp);
      if (why != null) {
        objection.ignored(m, m.path(), why);
        return false;
      }
    }
    return true;
  }

  private boolean isDone(Message m) {
    DataFileName file = lastFile;
    if (file == null || m.timestamp() != lastTimestamp) {
      return file != null && m.timestamp() < lastTimestamp;
    }
    int order = m.file().toString().compareTo(file.toString());
    return order < 0 || order == 0 && m.position() <= lastPosition;
  }

  /**
   * To be called when no more is wanted.
   *
   * @throws DamagedException if some of what it came to was lost before its bucket was closed (rule
   *     C4), or something in an open bucket is neither file nor directory (rule N7)
   */
  public void end() throws DamagedException {
    if (source != null) {
      note(source);
    }
    for (DamagedException e : lost.values()) {
      throw e;
    }
    if (open != null) {
      open.end();
    }
  }

  private void closeSource() throws IOException {
    Source from = source;
    source = null;
    current = null;
    if (from != null) {
      from.close();
    }
  }

  @Override
  public void close() throws IOException {
    closeSource();
  }
}
