package dev.cinch.bag;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Fields;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.HostName;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.fs.VirtualFs;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.write.Timestamps;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * An open store: a directory on a shared filesystem that holds logs, or a place in an object store.
 *
 * <p>Thread-safe. Opening holds no resources, so there is nothing to close; open it once in a
 * process, since one process's timestamps strictly increase only over one open store.
 *
 * <p>Where several users share a store, a program sets its umask to 007 or less before it starts
 * (rule C6); Java cannot. Otherwise what it makes is open to the others only once its mode is set,
 * a moment later, and never if the program is killed in between.
 */
@CheckReturnValue
public final class Store {
  private static final int MAX_SETTINGS = StoreIdentity.MAX_BYTES;

  private static final String LOST_IDENTITY =
      " holds records and has lost its identity: restore that from a backup, or get the messages"
          + " out with salvage";

  private final StoreContext context;
  private final Timestamps timestamps;

  private Store(StoreContext context) {
    this.context = context;
    this.timestamps = new Timestamps(context.time());
  }

  /**
   * What a process brings along to work on a store.
   *
   * @param fs the filesystem
   * @param machine the name under which it writes
   * @param time its clocks
   * @param random a secure source; thread-safe
   */
  public record Environment(
      StoreFs fs, MachineName machine, TimeSource time, RandomGenerator random) {
    /** The filesystem that a store's path is of: this machine's, or one within this process. */
    public static Environment of(MachineName machine, TimeSource time) {
      return new Environment(new PosixFs(null, null), machine, time, new SecureRandom());
    }

    /** This machine, as {@code cinch} on it works: by the name of the host, with its clocks. */
    public static Environment ofHost() {
      return of(MachineName.ofHost(HostName.get()), SystemTime.INSTANCE);
    }

    StoreFs fs(Path root, Optional<String> group) {
      boolean virtual = fs instanceof PosixFs && root.getFileSystem() != FileSystems.getDefault();
      return virtual ? new VirtualFs(root.getFileSystem(), time) : fs.forStore(root, group);
    }
  }

  /**
   * Makes a store in a directory, which may exist if it is empty or an earlier attempt was cut
   * short.
   *
   * @throws StoreExistsException if it is a store already, or was one; nothing is changed
   * @throws IllegalArgumentException if the settings cannot work; the message says why
   */
  @CanIgnoreReturnValue
  public static Store init(Path root, StoreSettings settings, Environment environment)
      throws IOException {
    return NewStore.make(root, settings, environment, null);
  }

  /**
   * As {@link #init(Path, StoreSettings, Environment)}, with the first trusted key: {@code
   * store.json} pins it by digest, so that no other is ever taken for it (rule F3).
   */
  @CanIgnoreReturnValue
  public static Store init(
      Path root, StoreSettings settings, Environment environment, @Nullable SigningKey first)
      throws IOException {
    return init(root, settings, environment, first == null ? null : () -> first);
  }

  /** Gives the first key of a store that is being made. */
  @FunctionalInterface
  public interface KeySource {
    /** Called once, where nothing stands in the store's way any more. */
    SigningKey get() throws IOException;
  }

  /**
   * As {@link #init(Path, StoreSettings, Environment, SigningKey)}, with a key that is made only
   * for a store that can be made.
   */
  @CanIgnoreReturnValue
  public static Store init(
      Path root, StoreSettings settings, Environment environment, @Nullable KeySource first)
      throws IOException {
    return NewStore.make(root, settings, environment, first);
  }

  /**
   * As {@link #init(Path, StoreSettings, Environment, KeySource)}, as a command line names it: a
   * directory, or the URI of another storage.
   *
   * @throws IllegalArgumentException also if there is no storage of that scheme
   */
  @CanIgnoreReturnValue
  public static Store init(
      Name where, StoreSettings settings, Environment environment, @Nullable KeySource first)
      throws IOException {
    if (where.isDirectory()) {
      return init(where.path(), settings, environment, first);
    }
    URI uri = URI.create(where.text());
    if (isFile(uri)) {
      return init(Path.of(uri), settings, environment, first);
    } else if (where.isObjects()) {
      NewObjectStore.at(where.text(), environment).make(settings, first);
    } else {
      NewStore.makeInMemory(uri, settings, environment, first);
    }
    return open(uri, environment);
  }

  /**
   * Opens a store.
   *
   * @throws NotAStoreException if the directory is none, or not wholly made
   * @throws dev.cinch.bag.format.NewerFormatException if it was made by a newer Cinch
   * @throws dev.cinch.bag.format.DamagedException if {@code store.json} is damaged
   */
  public static Store open(Path root, Environment environment) throws IOException {
    var layout = new StoreLayout(root);
    StoreIdentity identity;
    StoreFs anybody = environment.fs(root, Optional.empty());
    try {
      identity =
          new Fresh(anybody)
              .decode(
                  anybody.path(layout.settings()),
                  MAX_SETTINGS,
                  bytes -> StoreIdentity.decode(bytes, layout.settings()));
    } catch (NoSuchFileException | NotDirectoryException e) {
      if (NewStore.isHalfDestroyed(anybody, layout)) {
        throw new NotAStoreException(root + NewStore.HALF_DESTROYED);
      }
      if (NewStore.isUnfinishedBackup(anybody, layout)) {
        throw new NotAStoreException(
            root
                + " is a backup that was not finished, or not restored to the end: run that command"
                + " again");
      }
      boolean lost = NewStore.holdsLogs(anybody, layout);
      throw new NotAStoreException(
          lost
              ? root + NewStore.LOST_SETTINGS
              : root + " is not a Cinch store: it has no store.json; make one with init",
          lost);
    }
    StoreFs fs = environment.fs(root, identity.settings().group());
    var fresh = new Fresh(fs, environment.random(), root);
    var clock =
        new FsClock(fs, fresh, fs.path(layout.clock()), identity.settings().directoryMode());
    var storage = new PosixStore(fs, fresh, clock, layout, identity.settings(), environment.time());
    return of(new Opened(storage, layout, identity), environment);
  }

  /** A storage that was found to hold a store. */
  record Opened(Storage storage, StoreLayout layout, StoreIdentity identity) {}

  private static Store of(Opened opened, Environment environment) {
    return new Store(
        new StoreContext(
            opened.storage(),
            opened.layout(),
            opened.identity(),
            environment.machine(),
            environment.time(),
            environment.random()));
  }

  /**
   * Opens a store as a command line names it: a directory, or the URI of another storage.
   *
   * @throws IllegalArgumentException if there is no storage of that scheme
   */
  public static Store open(Name where, Environment environment) throws IOException {
    return where.isDirectory()
        ? open(where.path(), environment)
        : open(URI.create(where.text()), environment);
  }

  /**
   * Opens a store by the URI of its storage: {@code file:} is a directory, as {@link #open(Path,
   * Environment)} opens it. {@code mem:NAME} is a store in the memory of this process, for tests:
   * it is made with default settings when it is first opened, and ends with the process. There the
   * clocks of an environment are the storage's too. {@code s3://BUCKET/PREFIX} is in an object
   * store, whose address may follow behind {@code ?endpoint=}; docs/storage-object.md says how it
   * finds credentials.
   *
   * @throws IllegalArgumentException if there is no storage of that scheme
   */
  public static Store open(URI where, Environment environment) throws IOException {
    if (isFile(where)) {
      return open(Path.of(where), environment);
    }
    return of(
        new Name(where.toString()).isObjects()
            ? NewObjectStore.at(where.toString(), environment).open()
            : NewStore.inMemory(where, environment),
        environment);
  }

  private static boolean isFile(URI where) {
    if (!isStorage(where)) {
      throw new IllegalArgumentException(
          where + ": expected file:///DIRECTORY, s3://BUCKET/PREFIX or mem:NAME");
    }
    return where.getScheme().equals("file");
  }

  /**
   * What is in a place that may hold no whole store any more.
   *
   * @param layout names what a store would have there
   */
  public record Remains(Storage storage, StoreLayout layout) {}

  /**
   * Looks at no more than the place. {@link dev.cinch.bag.audit.Salvage} reads what is left of a
   * store there, and the command line destroys one in an object store by it.
   *
   * @throws IllegalArgumentException if there is no storage of that scheme
   */
  public static Remains remains(Name where, Environment environment) throws IOException {
    if (where.isObjects()) {
      NewObjectStore place = NewObjectStore.at(where.text(), environment);
      return new Remains(place.storage(), place.layout());
    } else if (where.isDirectory()) {
      StoreFs fs = environment.fs(where.path(), Optional.empty());
      return new Remains(PosixStore.unread(fs, where.path()), new StoreLayout(where));
    }
    Opened opened = NewStore.inMemory(URI.create(where.text()), environment);
    return new Remains(opened.storage(), opened.layout());
  }

  /** Whether there is a storage of that scheme. */
  public static boolean isStorage(URI where) {
    return "file".equals(where.getScheme())
        || "mem".equals(where.getScheme())
        || "s3".equals(where.getScheme());
  }

  /** A store that was opened in any storage. */
  public static Store of(StoreContext context) {
    return new Store(context);
  }

  /** What the parts of Cinch that work on this store need. */
  public StoreContext context() {
    return context;
  }

  public StoreSettings settings() {
    return context.settings();
  }

  /**
   * How the store is doing, and what of that needs somebody: as {@code cinch status} says, but for
   * lease servers and gc. {@link StoreSurvey} looks again and again, or at some logs.
   *
   * @throws IOException if that can't be told; a log that is damaged or can't be read is a problem
   */
  public StoreStatus status() throws IOException {
    return new StoreSurvey(this, StoreSurvey.LATE).look(List.of());
  }

  /** The source of this process's timestamps. */
  public Timestamps timestamps() {
    return timestamps;
  }

  /** The names of the logs there are, ascending. */
  public List<LogName> logs() throws IOException {
    return names(Freshness.CACHED);
  }

  /** As {@link #logs}, past every cache. */
  public List<LogName> freshLogs() throws IOException {
    return names(Freshness.CERTAIN);
  }

  /** As {@link #freshLogs} where this user may create files in the store, else as {@link #logs}. */
  public List<LogName> permittedLogs() throws IOException {
    return names(Freshness.PERMITTED);
  }

  private List<LogName> names(Freshness freshness) throws IOException {
    return context.storage().list(context.layout().logs(), freshness).stream()
        .filter(name -> !Name.isTemporary(name))
        .flatMap(name -> logName(name).stream())
        .sorted()
        .toList();
  }

  private static Optional<LogName> logName(String name) {
    try {
      return Optional.of(new LogName(name));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /**
   * Opens a log that exists.
   *
   * @throws LogRemovedException if it was removed
   * @throws NoSuchLogException if there is none
   * @throws DamagedException if what stands there is another log: its identity has another name
   */
  public Log log(LogName name) throws IOException {
    LogLayout layout = context.layout().log(name);
    Fields in;
    var removals = new RemovedLogs(context);
    try {
      in = identity(layout);
      if (removals.isSeen(layout)) { // who removed it stopped before the identity went
        removed(removals, name);
      }
    } catch (NoSuchFileException e) {
      removed(removals, name);
      throw new NoSuchLogException(
          "there is no log \"" + name + "\" in " + context.layout().root());
    }
    String named = in.text("name");
    if (!named.equals(name.value())) {
      // A directory that was renamed, copied or swapped with another's.
      throw new DamagedException(
          layout.identity(), 0, "the identity of log " + name, "that of log " + named);
    }
    Id id = in.id("log");
    return new Log(
        new LogContext(context, layout, id, in.number("created"), new AtomicReference<>()),
        timestamps);
  }

  private static void removed(RemovedLogs removals, LogName name) throws IOException {
    Optional<String> removed = removals.told(name);
    if (removed.isPresent()) {
      throw new LogRemovedException(removed.get());
    }
  }

  private Fields identity(LogLayout layout) throws IOException {
    Name file = layout.identity();
    return context
        .storage()
        .read(
            file,
            MAX_SETTINGS,
            Freshness.CACHED,
            bytes -> Envelope.decode(StoreIdentity.OF_LOG, bytes, file));
  }

  /**
   * Opens those of the logs that were made to their end. One whose maker died before it had an id
   * has no message and can't be named by a lease; it must stop nobody from closing or leasing the
   * others. Whoever appends to it makes it whole.
   *
   * <p>What is no directory is none of them.
   *
   * @param names as {@link #freshLogs} or {@link #permittedLogs} gave them
   */
  public List<Log> whole(List<LogName> names) throws IOException {
    var logs = new ArrayList<Log>();
    for (LogName name : names) {
      try {
        logs.add(log(name));
      } catch (LogRemovedException e) {
        continue;
      } catch (NotAStoreException e) {
        if (isWhole(context.layout().log(name))) {
          logs.add(log(name));
        }
      } catch (ForeignEntryException e) {
        if (!e.path().equals(context.layout().log(name).root())) {
          throw e;
        }
      }
    }
    return logs;
  }

  /**
   * The settled messages of several logs with times in {@code [from, to)} as one stream, through
   * the {@linkplain Messages#cut cut}: the time through which all of them are settled when it is
   * first asked. A log in which nothing is written is settled up to half an hour late (rule H9),
   * unless somebody runs {@code cinch close --now}.
   *
   * @param logs of this store, each once; at least one
   */
  public Messages messages(List<Log> logs, Instant from, Instant to) {
    return new Messages(logs, from, to, false);
  }

  /**
   * As {@link #messages}, and then each message that the cut passes, which it waits for. Logs that
   * are made later are not among them.
   */
  public Messages follow(List<Log> logs, Instant from) {
    return new Messages(logs, from, Instant.MAX, true);
  }

  /** Fences rest on this, so the listings must not come from a cache (rules N2 and N3). */
  private boolean isWhole(LogLayout layout) throws IOException {
    List<String> entries = context.storage().list(layout.root(), Freshness.PERMITTED);
    return entries.contains(layout.identity().last())
        // Buckets are made after the identity: it was lost, which must be told.
        || (entries.contains(layout.buckets().last())
            && !context.storage().list(layout.buckets(), Freshness.PERMITTED).stream()
                .allMatch(Name::isTemporary));
  }

  /**
   * Opens a log, making it first if it does not exist. Any number of processes may at once: all get
   * the same.
   *
   * @throws NotAStoreException if it was made before and has lost its identity; nothing is changed
   */
  public Log createLog(LogName name) throws IOException {
    try {
      return log(name);
    } catch (LogRemovedException e) {
      throw e; // its name means the messages that were in it, for whoever reads old leases
    } catch (NotAStoreException e) {
      LogLayout layout = context.layout().log(name);
      if (holdsRecords(layout)) {
        return madeMeanwhile(name);
      }
      // Before the identity: where that is, nobody makes the rest again.
      context.storage().prepare(layout.root());
      // From here on who fences sees that this log is being made, and so it can look itself.
      long created = creationTime(name);
      var document =
          JsonNodeFactory.instance
              .objectNode()
              .put("log", Id.random(context.random()).toString())
              .put("name", name.value())
              .put("created", created);
      byte[] identity = Envelope.encode(StoreIdentity.OF_LOG, document);
      context.publish(layout.identity(), identity);
      return log(name);
    }
  }

  /** Who links the first record of a log has forced its identity, so it was there. */
  private boolean holdsRecords(LogLayout layout) throws IOException {
    try {
      return !context.storage().list(layout.records(), Freshness.PERMITTED).stream()
          .allMatch(Name::isTemporary);
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  private Log madeMeanwhile(LogName name) throws IOException {
    try {
      return log(name);
    } catch (NotAStoreException e) {
      // A new identity would make all that it holds another log's.
      throw new NotAStoreException(context.layout().log(name).root() + LOST_IDENTITY, true);
    }
  }

  /**
   * When a log is made: by the filesystem's clock, but not before what another one is settled to,
   * any one. What was fenced in all logs before this one was made lies below that, and so below all
   * that is written under leases here (rule L8).
   */
  private long creationTime(LogName made) throws IOException {
    long now = context.now();
    long least = Long.MAX_VALUE; // one that is far ahead need not be the one
    IOException failure = null;
    for (LogName name : freshLogs()) {
      if (name.equals(made)) {
        continue;
      }
      try {
        for (Log log : whole(List.of(name))) {
          long created = log.context().created();
          var tip = log.horizon().chain().freshTip();
          least = Math.min(least, Math.max(created, tip.map(t -> t.record().to()).orElse(created)));
        }
      } catch (IOException e) {
        failure = e; // another one says as much
      }
      if (least <= now) {
        return now;
      }
    }
    if (least < Long.MAX_VALUE) {
      return least;
    }
    if (failure != null) {
      throw failure;
    }
    return now; // the first log
  }
}
