package dev.cinch.bag.close;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Family;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.Records;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a log's chain of records (section 4). Records never change, so only the question which is
 * the last can be answered stale; {@link #freshTip} never is. Thread-safe.
 */
@CheckReturnValue
public final class HorizonChain {
  private static final Logger LOG = LoggerFactory.getLogger(HorizonChain.class);

  private final LogContext log;
  private final Checkpoints checkpoints;

  /** Whether the records were seen to reach as far as what was made of them. */
  private volatile boolean whole;

  public HorizonChain(LogContext log) {
    this.log = log;
    this.checkpoints = new Checkpoints(log);
  }

  /**
   * A record as it was read.
   *
   * @param record its content
   * @param digest SHA-256 of its bytes, in hexadecimal
   */
  public record Link(HorizonRecord record, String digest) {}

  /**
   * The last record there is now, past every cache: for appends, fences, and reads after an acquire
   * (rule H3).
   */
  public Optional<Link> freshTip() throws IOException {
    return tip(Freshness.CERTAIN);
  }

  /** The last record as far as this machine knows: may be old, never wrong. */
  public Optional<Link> knownTip() throws IOException {
    return tip(Freshness.CACHED);
  }

  /**
   * As {@link #freshTip}; for a user who may only read as {@link #knownTip}. For those who just
   * want to read, and decide nothing by it.
   */
  public Optional<Link> permittedTip() throws IOException {
    return tip(Freshness.PERMITTED);
  }

  /**
   * The last record that listings of this machine show, whether retired or not: for who decides
   * nothing but to wait by it. Empty if there is none, or it can't be read now.
   */
  Optional<Link> glimpse() {
    try {
      Records listing = records(Freshness.CACHED);
      long last = listing.last();
      return last == 0 ? Optional.empty() : Optional.of(sealed(read(last), listing.seals(last)));
    } catch (IOException e) {
      LOG.debug("{}: no glimpse of its last record: {}", log.layout().name(), e.toString());
      return Optional.empty();
    }
  }

  /**
   * Where the listings show no record, the checkpoints tell whether there is none: a group of
   * records may have been retired since the groups were listed, and be gone, or empty since a
   * closer is late; and old listings may be from before the first record.
   *
   * <p>A seal without its record is as good as a name: the record was there, and its name durable.
   */
  private Optional<Link> tip(Freshness freshness) throws IOException {
    Optional<Link> tip = listedTip(freshness);
    return whole ? tip : reaching(tip);
  }

  /**
   * Refuses a chain that ends before a segment does, or a floor: these were made of records that
   * were durable, and so are lost. Whoever went on from there would begin a second history. Looked
   * at once by whoever holds this, and by closers each time.
   */
  private Optional<Link> reaching(Optional<Link> listed) throws IOException {
    Optional<Link> tip = listed;
    Patience wait = log.storage().patience(log.layout().root());
    while (true) {
      Optional<DamagedException> missing = missing(tip.map(t -> t.record().number()).orElse(0L));
      if (missing.isEmpty()) {
        whole = true;
        return tip;
      }
      Optional<Link> now = listedTip(Freshness.PERMITTED); // it was published since
      if (now.equals(tip)) {
        if (!wait.again()) {
          throw missing.get();
        }
        now = listedTip(Freshness.PERMITTED);
      }
      tip = now;
    }
  }

  /** What says that there was a record above a number, if anything does. */
  private Optional<DamagedException> missing(long last) throws IOException {
    OptionalLong segment = last(Family.SEGMENT);
    if (segment.isPresent()) {
      Name path = log.layout().segment(segment.getAsLong());
      long ends = last == 0 ? 1 : lastRecord(path);
      if (ends > last) {
        return Optional.of(missing(path, last == 0 ? lastRecord(path) : ends, last));
      }
    }
    OptionalLong floor = last == 0 ? last(Family.FLOOR) : OptionalLong.empty();
    return floor.isEmpty()
        ? Optional.empty()
        : Optional.of(missing(log.layout().floor(floor.getAsLong()), 1, last));
  }

  private OptionalLong last(Family family) throws IOException {
    return family.last(log.storage(), log.layout(), Freshness.CACHED);
  }

  private Records records(Freshness freshness) throws IOException {
    return Records.list(log.storage(), log.layout(), freshness);
  }

  private DamagedException missing(Name named, long number, long last) {
    return new DamagedException(
        path(Math.max(1, number)),
        0,
        "a record, which %s was made of".formatted(named),
        last == 0 ? "none at all" : "none above number " + last);
  }

  /** The last record that a segment covers; 0 if it says nothing, which its readers tell. */
  private long lastRecord(Name segment) throws IOException {
    try {
      return lastRecord(segment, Freshness.CACHED);
    } catch (IOException e) { // stale, since it expired while it was open
      return lastRecord(segment, Freshness.PERMITTED);
    }
  }

  private long lastRecord(Name segment, Freshness freshness) throws IOException {
    try {
      ByteBuffer start = ByteBuffer.allocate(SegmentHeader.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      try (Stored in = log.storage().open(segment, freshness)) {
        int unused = in.read(start, 0);
      }
      SegmentHeader h = SegmentHeader.decode(start.flip(), segment);
      return h.log().equals(log.id()) ? h.lastRecord() : 0;
    } catch (DamagedException | NoSuchFileException e) {
      return 0;
    }
  }

  /** As {@link #freshTip}, for who goes on from there: looked at anew whether anything is lost. */
  Optional<Link> closersTip() throws IOException {
    whole = false;
    return freshTip();
  }

  private Optional<Link> listedTip(Freshness freshness) throws IOException {
    Records listing;
    try {
      listing = records(freshness);
    } catch (NoSuchFileException e) { // it was made before the identity, and is never removed
      Name records = log.layout().records();
      throw new DamagedException(records, 0, "the directory of the log's records", "none");
    }
    long number = listing.last() > 0 ? listing.last() : checkpoints.number().orElse(0);
    while (number > 0) {
      Optional<Link> link = readUnlessRetired(number);
      if (link.isPresent()) {
        return Optional.of(sealed(link.get(), listing.seals(number)));
      }
      // Retired between the listing and the read; a cached listing may say the same again, but the
      // checkpoint's own record stays.
      long checkpoint = checkpoints.number().orElseThrow();
      listing = records(freshness);
      number = Math.max(checkpoint, listing.last());
    }
    return Optional.empty();
  }

  /** Checks a record against its seal, if it has one; nobody else vouches for the last one. */
  public Link sealed(Link link, SortedSet<String> seals) throws IOException {
    long number = link.record().number();
    if (seals.isEmpty() || seals.equals(Set.of(link.digest()))) {
      return link;
    }
    Name path = path(number);
    Link stored = read(number, Freshness.CERTAIN); // rule N5
    if (seals.equals(Set.of(stored.digest()))) {
      return stored;
    }
    throw new DamagedException(
        path, 0, "SHA-256 " + String.join(" and ", seals) + ", as its seal says", stored.digest());
  }

  /**
   * Reads a record and then looks whether a checkpoint stands above it: if so it is retired, and
   * what stands under its name may have been linked by somebody who slept through that (rule R2).
   * The record at the line must be the one that the checkpoint names.
   *
   * @return empty if it is retired
   * @throws DamagedException also if it is missing, past every cache
   */
  public Optional<Link> readUnlessRetired(long number) throws IOException {
    try {
      Link link = readKept(number);
      long line = checkpoints.number().orElse(0);
      if (line == number) {
        ChainPlace.of(readCheckpoint(number))
            .is(link.record(), link.digest(), path(number), "the checkpoint");
      }
      return line > number ? Optional.empty() : Optional.of(link);
    } catch (IOException e) { // of a file that is removed: none, a stale handle, or another's bytes
      if (retired(number)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /**
   * Reads a record that is there unless it is retired. A "no" is not believed before every cache
   * has expired, where this user does not see past them.
   *
   * @throws DamagedException also if it is missing and no checkpoint stands above it
   * @throws NoSuchFileException if it is missing, and a checkpoint stands above it
   */
  public Link readKept(long number) throws IOException {
    Name group = log.layout().recordGroup(LogLayout.groupOfRecord(number));
    return log.storage()
        .patience(group)
        .find(() -> readUnlessMissing(number))
        .orElseThrow(
            () ->
                new DamagedException(
                    path(number), 0, "record " + number, "no file: it is missing"));
  }

  private Optional<Link> readUnlessMissing(long number) throws IOException {
    try {
      return Optional.of(read(number));
    } catch (NoSuchFileException e) {
      if (retired(number)) {
        throw e;
      }
      return Optional.empty();
    }
  }

  /** Where a record stands. */
  public Name path(long number) {
    return log.layout().record(number);
  }

  /**
   * Forces a record's name. A record that is acted on must not vanish with the power: who linked it
   * may have stopped before it forced, and another one could be linked in its place. Those before
   * it are durable, since nobody links one before that.
   */
  @CanIgnoreReturnValue
  public Link durable(Link link) throws IOException {
    long number = link.record().number();
    try {
      log.storage().secure(log.layout().records());
      log.storage().secure(log.layout().recordGroup(LogLayout.groupOfRecord(number)));
    } catch (IOException e) {
      if (!retired(number)) {
        throw e;
      }
    }
    return link;
  }

  /**
   * Seals a record that this process has linked, once its name is durable: a seal that outlived its
   * record would be a false alarm for ever. Until the next record names its digest nothing else
   * shows that it was altered or has vanished. A failure is none: no seal says nothing.
   */
  void seal(Link link) {
    Name seal = log.layout().recordSeal(link.record().number(), link.digest());
    try {
      durable(link);
      log.publish(seal, new byte[0]);
    } catch (IOException e) {
      LOG.debug("{}: not left: {}", seal, e.toString());
    }
  }

  /** Whether a checkpoint stands above a record, past every cache. */
  private boolean retired(long number) throws IOException {
    OptionalLong checkpoint = checkpoints.number();
    return checkpoint.isPresent() && checkpoint.getAsLong() > number;
  }

  /**
   * Reads a record that is there.
   *
   * @throws DamagedException if it is not a record of this log and number, was cut short or
   *     altered, also past the cache (rule N5)
   */
  public Link read(long number) throws IOException {
    return read(number, Freshness.CACHED);
  }

  private Link read(long number, Freshness freshness) throws IOException {
    return log.storage()
        .read(path(number), HorizonRecord.MAX_BYTES, freshness, bytes -> decode(bytes, number));
  }

  private Link decode(byte[] bytes, long number) throws DamagedException {
    Name path = path(number);
    HorizonRecord record = HorizonRecord.decode(bytes, path, log.bucketWidth());
    if (!record.log().equals(log.id()) || record.number() != number) {
      throw new DamagedException(
          path,
          0,
          "record " + number + " of log " + log.id(),
          record.number() + " of " + record.log());
    }
    return new Link(record, Envelope.sha256(bytes));
  }

  /**
   * The record that settles a time, which must lie before the {@code to} of {@code tip}; empty if
   * the time lies behind a checkpoint, so that only segments tell. Checked against the records
   * beside it.
   */
  public Optional<Link> settling(long time, Link tip) throws IOException {
    return View.read(
        this::line,
        view -> {
          if (time < view.retired()) {
            return Optional.empty();
          }
          Link found = search(time, tip, view.firstRecord());
          ChainWalk.check(this, tip, found);
          refuseRetired(found.record().number());
          return Optional.of(found);
        });
  }

  /** Refuses to go on by records from a number on, if a checkpoint stands above that (rule R2). */
  public void refuseRetired(long number) throws IOException {
    if (retired(number)) {
      throw new DamagedException(
          path(Math.max(1, number)), 0, "a record that counts", "one that is retired");
    }
  }

  /**
   * The record that settles a time, not checked against those beside it, nor whether it was retired
   * meanwhile.
   *
   * @param time before the {@code to} of the tip
   * @param first the first record that counts
   */
  public Link search(long time, Link tip, long first) throws IOException {
    if (tip.record().settles(time)) {
      return tip;
    }
    long low = first;
    long high = tip.record().number() - 1;
    while (low <= high) {
      long middle = (low + high) >>> 1;
      Link link = readKept(middle);
      if (link.record().settles(time)) {
        return link;
      }
      if (time < link.record().from()) {
        high = middle - 1;
      } else {
        low = middle + 1;
      }
    }
    throw noneSettles(time);
  }

  /** What is wrong where the records leave out a time. */
  public DamagedException noneSettles(long time) {
    Name path = log.layout().records();
    return new DamagedException(path, 0, "a record that settles the time " + time, "none");
  }

  /** A look at the log, its tip as fresh as {@link #freshTip} and its like. */
  public View view(Freshness freshness) throws IOException {
    Optional<Link> tip = tip(freshness);
    Floor floor = floor(); // first: the checkpoint is not older than its own
    return new View(tip, checkpoint(), floor);
  }

  /**
   * Whether a view is likely to be the same still, by one request where listings are dear. Behind a
   * checkpoint, or in an old cache, a next record is missing too: so nobody goes by this for ever.
   */
  public boolean seemsLast(View view) throws IOException {
    long last = view.tip().map(tip -> tip.record().number()).orElse(0L);
    return log.storage().listsDearly() && !log.storage().isThere(path(last + 1), Freshness.CERTAIN);
  }

  /** A look without the tip: how far the log is retired, and how far it expired. */
  public View line() throws IOException {
    Floor floor = floor();
    return new View(Optional.empty(), checkpoint(), floor);
  }

  /**
   * The last checkpoint, past every cache where this user may create files; empty if nothing was
   * ever retired.
   *
   * @throws DamagedException if it is not a checkpoint of this log and number, also past the cache
   *     (rule N5)
   */
  public Optional<Checkpoint> checkpoint() throws IOException {
    return checkpoints.last();
  }

  /** Reads a checkpoint that is there. */
  public Checkpoint readCheckpoint(long number) throws IOException {
    return checkpoints.read(number);
  }

  /** How far the log's messages expired (rule R4); as {@link #checkpoint}. */
  public Floor floor() throws IOException {
    return checkpoints.floor();
  }
}
