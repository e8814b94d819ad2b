package dev.cinch.bag;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.StoreCut.Part;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.View;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store's numbered instants. A cut has the time through which all of its logs were settled when
 * it was taken. So whoever reads it, whenever that is, reads the same, or is told that some of it
 * is gone (rule H11). Thread-safe.
 */
@CheckReturnValue
public final class Cuts {
  private static final Logger LOG = LoggerFactory.getLogger(Cuts.class);

  /** What only who sees an old listing can need stays so long. */
  private static final long STALE_NANOS = 24 * 3_600_000_000_000L;

  private final Store store;
  private final StoreContext context;
  private final StoreLayout layout;

  public Cuts(Store store) {
    this.store = store;
    this.context = store.context();
    this.layout = context.layout();
  }

  /** What a listing shows: numbers, and those that are taken for ever though they are gone. */
  private record Listing(TreeSet<Long> there, List<StoreLayout.CutsGone> gone) {
    long last() {
      long last = there.isEmpty() ? 0 : there.last();
      return gone.stream().mapToLong(StoreLayout.CutsGone::last).reduce(last, Math::max);
    }

    boolean isGone(long number) {
      return gone.stream().anyMatch(g -> g.has(number));
    }

    /** Those that count, ascending. */
    List<Long> numbers() {
      return there.stream().filter(n -> !isGone(n)).toList();
    }
  }

  private Listing listing(Freshness freshness) throws IOException {
    var listing = new Listing(new TreeSet<>(), new ArrayList<>());
    for (String name : context.storage().listIfThere(layout.cuts(), freshness)) {
      Numbered.parse(name).ifPresent(listing.there::add);
      StoreLayout.cutsGone(name).ifPresent(listing.gone::add);
    }
    return listing;
  }

  /**
   * Takes a cut: of all the logs at one time.
   *
   * @param logs of this store, each once, ascending by their names; at least one
   * @throws NothingSettledException if nothing of one of them is settled
   * @throws LogRemovedException if one of them was removed meanwhile
   */
  @CanIgnoreReturnValue
  public StoreCut take(List<Log> logs) throws IOException {
    if (logs.isEmpty() || logs.size() > StoreCut.MAX_LOGS) {
      throw new IllegalArgumentException("a cut has 1 to " + StoreCut.MAX_LOGS + " logs");
    }
    context.requireSame();
    context.storage().prepare(layout.cuts());
    while (true) {
      // Before the logs are looked at: so no cut is behind one that has a lower number.
      StoreCut mine = look(listing(Freshness.CERTAIN).last() + 1, logs);
      context.publish(layout.cut(mine.number()), mine.encode());
      if (counts(mine)) {
        return mine;
      }
    }
  }

  /**
   * Whether what stands there is ours, and nobody had the number before. Who slept since the
   * listing may have linked one that was removed meanwhile: its number was marked before.
   */
  private boolean counts(StoreCut mine) throws IOException {
    if (listing(Freshness.CERTAIN).isGone(mine.number())) {
      return false;
    }
    try {
      return read(mine.number(), Freshness.CERTAIN).equals(mine);
    } catch (NoSuchFileException | DamagedException e) {
      return false;
    }
  }

  private StoreCut look(long number, List<Log> logs) throws IOException {
    var tips = new TreeMap<LogName, Link>();
    for (Log log : logs) {
      HorizonChain chain = log.horizon().chain();
      Link tip =
          chain
              .freshTip()
              .orElseThrow(
                  () ->
                      new NothingSettledException(
                          "nothing of \"%s\" is settled yet, and a cut goes as far as all logs are; run cinch close --wait --now"
                              .formatted(log.name())));
      tips.put(log.name(), chain.durable(tip));
    }
    long time = tips.values().stream().mapToLong(t -> t.record().to()).min().orElseThrow();
    var parts = new ArrayList<Part>();
    for (Log log : logs) {
      Link tip = requireNonNull(tips.get(log.name()));
      refuseRemoved(log, tip);
      Link reaching = reaching(log, tip, time);
      long floor = new Segments(log.context()).floor().to();
      long record = reaching.record().number();
      long table = version(log.context().layout().table());
      parts.add(new Part(log.name(), log.id(), record, reaching.digest(), floor, table));
    }
    return cut(number, time, parts);
  }

  /** The version of a table; -1 if there is none. */
  private long version(TableLayout table) throws IOException {
    return context.storage().listIfThere(table.commits(), Freshness.PERMITTED).stream()
        .mapToLong(name -> TableLayout.commitVersion(name).orElse(-1))
        .max()
        .orElse(-1);
  }

  private StoreCut cut(long number, long time, List<Part> parts) throws IOException {
    String by = context.machine().toString();
    Id id = Id.random(context.random());
    return new StoreCut(context.identity().id(), number, id, time, context.now(), by, parts);
  }

  /** Only a log that was removed is settled to the last boundary there is (rule H8). */
  private void refuseRemoved(Log log, Link tip) throws IOException {
    if (tip.record().to() > Long.MAX_VALUE - 2 * log.context().bucketWidth()) {
      String removing = "log \"%s\" is being removed".formatted(log.name());
      throw new LogRemovedException(new RemovedLogs(context).told(log.name()).orElse(removing));
    }
  }

  /** The record that settles up to a time; where that one was retired, the one at the line. */
  private static Link reaching(Log log, Link tip, long time) throws IOException {
    HorizonChain chain = log.horizon().chain();
    return View.read( // the one at the line is retired where a further line is drawn
        chain::line,
        view -> {
          Optional<Link> found = chain.settling(time - 1, tip);
          return found.isPresent() ? found.get() : chain.readKept(view.firstRecord());
        });
  }

  /**
   * The number of the last one; empty if there was never one.
   *
   * @throws IOException if that can't be told
   */
  public OptionalLong last() throws IOException {
    List<Long> numbers = numbers();
    return numbers.isEmpty()
        ? OptionalLong.empty()
        : OptionalLong.of(numbers.get(numbers.size() - 1));
  }

  /** The numbers of those that are there, ascending, as fresh as this user may look. */
  public List<Long> numbers() throws IOException {
    return listing(Freshness.PERMITTED).numbers();
  }

  /**
   * Finds a cut.
   *
   * @throws NoSuchCutException if there is none of that number, or it is gone
   * @throws DamagedException if its document is damaged
   */
  public StoreCut find(long number) throws IOException {
    Optional<StoreCut> found =
        context.storage().patience(layout.cuts()).find(() -> findUnlessMissing(number));
    if (found.isPresent()) {
      return found.get();
    }
    long last = listing(Freshness.PERMITTED).last();
    throw new NoSuchCutException(
        number > last
            ? "there is no cut %d in %s: %s"
                .formatted(
                    number,
                    layout.root(),
                    last == 0 ? "none was taken; cinch cut takes one" : "the last one is " + last)
            : "cut %d is gone: nobody could read it any more, and gc removed it; cinch cut --list names those that are left"
                .formatted(number));
  }

  private Optional<StoreCut> findUnlessMissing(long number) throws IOException {
    Listing now = listing(Freshness.PERMITTED);
    return now.there.contains(number) && !now.isGone(number)
        ? unlessRemoved(number)
        : Optional.empty();
  }

  private StoreCut read(long number, Freshness freshness) throws IOException {
    Name path = layout.cut(number);
    try {
      return context
          .storage()
          .read(
              path,
              StoreCut.MAX_BYTES,
              freshness,
              bytes -> StoreCut.decode(bytes, context.identity().id(), number, path));
    } catch (DamagedException e) {
      throw new DamagedException(
          path, e.offset(), e.expected(), e.actual() + "; restore it, or use another cut");
    }
  }

  /**
   * Opens a log of a cut, to be read before the cut's time. To be asked once more when it was read:
   * then nothing of what was read had expired.
   *
   * @param from where the reader begins, nanoseconds since the Unix epoch
   * @throws NoSuchCutException if the log has no longer what it had
   */
  public Log open(StoreCut cut, Part part, long from) throws IOException {
    Log log;
    try {
      log = store.log(part.name());
    } catch (NoSuchLogException | LogRemovedException e) {
      throw lost(cut, "" + e.getMessage());
    }
    if (!log.id().equals(part.log())) {
      throw lost(cut, "log \"%s\" was made anew since".formatted(part.name()));
    }
    Optional<String> other = differs(cut, part, log);
    if (other.isPresent()) {
      throw lost(cut, other.get());
    }
    long expired = new Segments(log.context()).expired();
    if (expired > part.floor() && from < expired && part.floor() < cut.time()) {
      throw lost(
          cut,
          expired >= cut.time()
              ? "all that log \"%s\" had before it expired".formatted(part.name())
              : "of log \"%s\" messages expired since; read it with --from %s"
                  .formatted(part.name(), IsoTime.text(expired)));
    }
    return log;
  }

  private static NoSuchCutException lost(StoreCut cut, String why) {
    return new NoSuchCutException(
        "cut %d can't be read as it was taken: %s".formatted(cut.number(), why));
  }

  /**
   * How the log went on otherwise than the cut says, as after a restoration from an older copy;
   * empty if it did not, as far as its records tell.
   */
  public static Optional<String> differs(StoreCut cut, Part part, Log log) throws IOException {
    HorizonChain chain = log.horizon().chain();
    Optional<Link> tip =
        log.context()
            .storage()
            .patience(log.context().layout().records())
            .find(() -> chain.permittedTip().filter(t -> t.record().to() >= cut.time()));
    if (tip.isEmpty() || tip.get().record().number() < part.record()) {
      return Optional.of(
          "log \"%s\" is not settled that far; the store was restored from an older copy"
              .formatted(part.name()));
    }
    Optional<Link> record = chain.readUnlessRetired(part.record());
    return record.isEmpty() || record.get().digest().equals(part.digest())
        ? Optional.empty()
        : Optional.of(
            "log \"%s\" has another record %d; the store was restored from an older copy"
                .formatted(part.name(), part.record()));
  }

  /**
   * Removes cuts that nobody can read any more: of which every log was removed, or all that it had
   * there expired. The highest number stays.
   *
   * @param really whether to remove them
   * @param each told of every one
   */
  public void removeUnreadable(boolean really, Consumer<Name> each) throws IOException {
    var known = new HashMap<LogName, Optional<Kept>>();
    sweep(really, each, cut -> isReadable(cut, known));
  }

  /** What is left of a log: its id, and the time before which messages expired. */
  private record Kept(Id log, long from) {}

  private boolean isReadable(StoreCut cut, Map<LogName, Optional<Kept>> known) throws IOException {
    for (Part part : cut.logs()) {
      Optional<Kept> kept = known.get(part.name());
      if (kept == null) {
        kept = kept(part.name());
        known.put(part.name(), kept);
      }
      if (kept.isPresent() && kept.get().log.equals(part.log()) && kept.get().from < cut.time()) {
        return true;
      }
    }
    return false;
  }

  /** Empty if the log was removed. That there is none may come from a cache, and proves nothing. */
  private Optional<Kept> kept(LogName name) throws IOException {
    try {
      Log log = store.log(name);
      return Optional.of(new Kept(log.id(), new Segments(log.context()).expired()));
    } catch (LogRemovedException e) {
      return Optional.empty();
    }
  }

  /**
   * Removes cuts that a store, which was restored from a copy, does not reach. No number of theirs
   * is used again.
   *
   * @param each told of every one
   */
  public void removeAhead(Consumer<Name> each) throws IOException {
    Listing now = listing(Freshness.CERTAIN);
    long last = now.last();
    if (now.there.contains(last) && !stays(last, this::isReached)) {
      byte[] none = cut(last + 1, Long.MAX_VALUE, List.of()).encode();
      context.publish(layout.cut(last + 1), none);
    }
    sweep(true, each, this::isReached);
  }

  private boolean isReached(StoreCut cut) throws IOException {
    for (Part part : cut.logs()) {
      try {
        Log log = store.log(part.name());
        if (log.id().equals(part.log()) && differs(cut, part, log).isPresent()) {
          return false;
        }
      } catch (NotAStoreException e) {
        continue; // it says nothing of the others
      }
    }
    return true;
  }

  private interface Judge {
    boolean stays(StoreCut cut) throws IOException;
  }

  private boolean stays(long number, Judge judge) {
    try {
      Optional<StoreCut> cut = unlessRemoved(number);
      return cut.isPresent() && judge.stays(cut.get());
    } catch (IOException e) {
      LOG.debug("cut {} stays: {}", number, e.toString());
      return true; // nobody knows what it has; verify tells why
    }
  }

  private Optional<StoreCut> unlessRemoved(long number) throws IOException {
    try {
      return Optional.of(read(number, Freshness.CACHED));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private void sweep(boolean really, Consumer<Name> each, Judge judge) throws IOException {
    Listing before = listing(really ? Freshness.CERTAIN : Freshness.PERMITTED);
    var kept = new TreeSet<Long>();
    for (long number : before.numbers()) {
      if (stays(number, judge)) {
        kept.add(number);
      }
    }
    if (before.there.isEmpty()) {
      return;
    }
    kept.add(before.last());
    var going = new TreeSet<>(before.there);
    going.removeAll(kept);
    if (!really) {
      going.forEach(number -> each.accept(layout.cut(number)));
      return;
    }
    long from = 1;
    for (long number : kept) {
      var gap = new StoreLayout.CutsGone(from, number - 1);
      if (!before.gone.contains(gap) && going.stream().anyMatch(gap::has)) {
        context.publish(layout.cutsGone(gap), new byte[0]);
      }
      from = number + 1;
    }
    context.storage().secure(layout.cuts()); // no number comes back
    context.requireSame();
    for (long number : going) {
      context.storage().remove(layout.cut(number));
      each.accept(layout.cut(number));
    }
    removeStale();
  }

  /** Marks that a wider one has replaced, and what somebody left who stopped. */
  private void removeStale() throws IOException {
    List<StoreLayout.CutsGone> gone = listing(Freshness.CACHED).gone;
    for (String name : context.storage().listIfThere(layout.cuts(), Freshness.CACHED)) {
      Optional<StoreLayout.CutsGone> mark = StoreLayout.cutsGone(name);
      boolean useless =
          mark.isPresent()
              ? gone.stream().anyMatch(g -> !g.equals(mark.get()) && g.covers(mark.get()))
              : Name.isTemporary(name);
      if (useless && isOld(layout.cuts().resolve(name))) {
        context.storage().removeQuietly(layout.cuts().resolve(name));
      }
    }
  }

  private boolean isOld(Name file) throws IOException {
    try {
      return context.storage().changedAt(file) < context.now() - STALE_NANOS;
    } catch (NoSuchFileException e) {
      return false; // somebody else removed it
    }
  }
}
