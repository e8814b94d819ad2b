package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.format.Removal;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.registry.ServiceNames.CeilingName;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies a store while it is used (rule H10). The copy has of each log all that was settled through
 * a time, and nothing else. It is a store that can be read, and that nobody writes to until it is
 * restored. The next run brings what is new. One that stops anywhere is run again.
 *
 * <p>The lease service's files are copied after each log's last record was read and before the copy
 * has it: so no ceiling of the copy is below what its messages were written under (rule L3).
 *
 * <p>Not thread-safe. One backup at a time works in a directory.
 */
@CheckReturnValue
public final class Backup {
  private static final Logger LOG = LoggerFactory.getLogger(Backup.class);
  private static final int MAX_SERVICE_FILE = 1 << 20;

  private final Store store;
  private final StoreContext context;
  private final Storage storage;
  private final Destination to;
  private final StoreLayout there;
  private final List<Problem> problems = new ArrayList<>();

  /** A log that could not be copied, or not up to now. */
  public record Problem(LogName log, Exception why) {}

  /**
   * What the backup has.
   *
   * @param through of each log, the time through which it is whole, nanoseconds since the Unix
   *     epoch; {@link Long#MIN_VALUE} where nothing was ever settled
   * @param files written by this run
   * @param bytes in them
   * @param problems logs that stay as they were in the backup, or are not in it
   */
  public record Result(
      TreeMap<LogName, Long> through, long files, long bytes, List<Problem> problems) {
    public Result {
      problems = List.copyOf(problems);
    }

    /** The time through which all logs are whole; empty if nothing is settled in any. */
    public OptionalLong instant() {
      return through.values().stream()
          .filter(t -> t > Long.MIN_VALUE)
          .mapToLong(Long::longValue)
          .min();
    }
  }

  /**
   * @param fs of the backup's directory
   * @param root of the backup
   * @param progress told the number of files written so far, after each
   */
  public Backup(Store store, StoreFs fs, Path root, LongConsumer progress) {
    this.store = store;
    this.context = store.context();
    this.storage = context.storage();
    this.there = new StoreLayout(root);
    this.to =
        new Destination(
            fs.forStore(root, context.settings().group()),
            context.random(),
            there,
            context.settings(),
            progress);
  }

  /**
   * Settles what is due, and copies what the directory does not have.
   *
   * @throws BackupRefusedException if the directory holds something else than a backup of this
   *     store
   */
  public Result run() throws IOException, InterruptedException {
    boolean first = begin();
    var cuts = new CutBackup(store, to); // before the logs: so these reach what the cuts say
    var tips = new TreeMap<LogName, Link>();
    List<Log> logs = whole();
    settle(logs);
    var copies = new ArrayList<Log>();
    for (Log log : logs) {
      try {
        log.horizon().chain().freshTip().ifPresent(tip -> tips.put(log.name(), tip));
        copies.add(log);
      } catch (IOException e) {
        problems.add(new Problem(log.name(), e));
      }
    }
    service();
    var through = new TreeMap<LogName, Long>();
    for (Log log : copies) {
      try {
        through.put(log.name(), copy(log, tips.get(log.name()), first));
      } catch (BackupRefusedException e) {
        throw e;
      } catch (IOException e) {
        problems.add(new Problem(log.name(), e));
        if (first) { // half of a log is none, in what is a store in a moment
          to.removeAll(there.log(log.name()).root());
        }
      }
    }
    removed();
    cuts.copy(through);
    forgetService();
    if (first) {
      to.link(there.nextSettings(), there.settings());
    }
    return new Result(through, to.files(), to.bytes(), problems);
  }

  /** Whether it is the first backup there, or the first one was not finished. */
  private boolean begin() throws IOException {
    StoreIdentity mine = context.identity().asBackup(true);
    if (context.identity().backup()) {
      throw new BackupRefusedException(
          context.layout().root() + " is a backup itself: copy it with any tool, or restore it");
    }
    if (to.has(there.settings())) {
      StoreIdentity its = to.identity(there.settings());
      if (!its.id().equals(mine.id())) {
        throw new BackupRefusedException(there.root() + " is of another store");
      }
      if (!its.backup()) {
        throw new BackupRefusedException(
            there.root() + " is a store, or a backup that was restored: name a new directory");
      }
      if (to.has(there.nextSettings())) {
        if (!to.identity(there.nextSettings()).backup()) {
          throw new BackupRefusedException(there.root() + " was not restored to the end");
        }
        to.remove(there.nextSettings());
      }
      return false;
    }
    List<String> names = to.names(there.root());
    if (to.has(there.nextSettings())) {
      StoreIdentity its = to.identity(there.nextSettings());
      if (!its.equals(mine)) {
        throw new BackupRefusedException(
            there.root() + " is of another store, or was not restored to the end");
      }
    } else if (!names.isEmpty()) {
      throw new BackupRefusedException(
          "%s holds other files (%s): name a new or an empty directory"
              .formatted(there.root(), names.get(0)));
    }
    to.publish(there.nextSettings(), mine.encode());
    for (Name directory : there.directories()) {
      to.directory(directory);
    }
    return true;
  }

  private List<Log> whole() throws IOException {
    var logs = new ArrayList<Log>();
    for (LogName name : store.permittedLogs()) {
      try {
        logs.addAll(store.whole(List.of(name)));
      } catch (IOException e) {
        problems.add(new Problem(name, e));
      }
    }
    return logs;
  }

  /** A store that nobody closes has something to copy, and all logs reach the same time. */
  private void settle(List<Log> logs) throws InterruptedException {
    long reachable = Long.MIN_VALUE;
    for (Log log : logs) {
      HorizonAdvance horizon = log.horizon();
      try {
        reachable = reachable == Long.MIN_VALUE ? horizon.reachable() : reachable;
        Link unused = horizon.advance(reachable, OptionalLong.empty());
      } catch (OpinionNeededException e) {
        LOG.debug("{}: idle since long: {}", log.name(), e.getMessage());
      } catch (
          IOException e) { // a user who may only read; or what is damaged is told as it is read
        LOG.info("{}: not settled up to now: {}", log.name(), e.toString());
      }
    }
  }

  private long copy(Log log, @Nullable Link known, boolean first) throws IOException {
    @Nullable Link tip = known;
    while (true) {
      var backup = new LogBackup(log.context(), to, first);
      backup.make();
      if (tip == null) {
        return Long.MIN_VALUE;
      }
      try {
        backup.copy(tip);
        return tip.record().to();
      } catch (LogBackup.OutdatedException e) {
        tip = log.horizon().chain().freshTip().orElseThrow(() -> e);
        service(); // what follows may have been written under later leases, or keys
      }
    }
  }

  private void service() throws IOException {
    StoreLayout from = context.layout();
    files(from.keys(), there.keys());
    files(from.limits(), there.limits());
    files(from.instances(), there.instances());
    files(from.ends(), there.ends());
    files(from.revocations(), there.revocations());
    files(from.ceilings(), there.ceilings());
  }

  /** Of ceilings these alone: what else instances leave there is for the original (rule L19). */
  private List<String> serviceNames(Name place) throws IOException {
    return storage.listIfThere(place, Freshness.PERMITTED).stream()
        .filter(name -> !Name.isTemporary(name))
        .filter(name -> !place.equals(context.layout().ceilings()) || isCeiling(name))
        .toList();
  }

  private static boolean isCeiling(String name) {
    return CeilingName.ofFile(name).isPresent();
  }

  private void files(Name from, Name place) throws IOException {
    while (!copied(from, place)) {
      context.awaitCaches(from); // what stands in its place is in a later listing
    }
  }

  /** Whether all was copied that was listed: ceilings move on, however long this was paused. */
  private boolean copied(Name from, Name place) throws IOException {
    boolean all = true;
    for (String name : serviceNames(from)) {
      if (!to.has(place.resolve(name))) {
        try {
          byte[] bytes =
              storage.read(from.resolve(name), MAX_SERVICE_FILE, Freshness.CERTAIN, read -> read);
          to.publish(place.resolve(name), bytes);
        } catch (NoSuchFileException e) {
          all = false;
        } catch (IOException e) { // stale, or as it says
          if (serviceNames(from).contains(name)) {
            throw e;
          }
          all = false;
        }
      }
    }
    return all;
  }

  /** Ceilings and ends that the source no longer has. */
  private void forgetService() throws IOException {
    StoreLayout from = context.layout();
    forget(from.ceilings(), there.ceilings());
    forget(from.ends(), there.ends());
  }

  private void forget(Name from, Name place) throws IOException {
    files(from, place);
    List<String> names = to.names(place);
    Set<String> kept = new HashSet<>(serviceNames(from));
    List<CeilingName> both =
        names.stream()
            .filter(kept::contains)
            .flatMap(name -> CeilingName.ofFile(name).stream())
            .toList();
    for (String name : names) {
      Optional<CeilingName> ceiling = CeilingName.ofFile(name);
      // A ceiling goes only where one is here that covers it, of its instance or a later one.
      if (!kept.contains(name)
          && (ceiling.isEmpty() || both.stream().anyMatch(c -> c.covers(ceiling.get())))) {
        to.remove(place.resolve(name));
      }
    }
  }

  /** Of a log that was removed the tombstone stays (rule H8); nobody opens it from then on. */
  private void removed() throws IOException {
    var removals = new RemovedLogs(context);
    for (LogName log : store.freshLogs()) {
      Optional<Removal> removal = removals.find(log);
      if (removal.isEmpty()) {
        continue;
      }
      LogLayout copy = there.log(log);
      to.publish(copy.removed(), removal.get().encode());
      to.remove(copy.identity());
      for (Name place : List.of(copy.buckets(), copy.segments(), copy.horizon())) {
        if (to.has(place)) {
          to.removeAll(place);
        }
      }
    }
    for (String name : to.names(there.logs())) {
      var log = new LogName(name);
      if (store.whole(List.of(log)).isEmpty() && removals.find(log).isEmpty()) {
        problems.add(
            new Problem(log, new NoSuchFileException("it is gone, and stays in the backup")));
      }
    }
    problems.sort(Comparator.comparing(Problem::log));
  }
}
