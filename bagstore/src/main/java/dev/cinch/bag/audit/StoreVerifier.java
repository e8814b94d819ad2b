package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.Removal;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.registry.StoreRevocations;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Revocation;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Reads every byte of a store and checks it against everything else that says something about it.
 * Goes on after damage. Writes nothing, so it also works on a copy or a read-only mount; on a store
 * in use it checks what was there when it looked, and where that was retired meanwhile, the
 * segments that have it.
 *
 * <p>Memory is bounded by the longest batch and the longest lock, not by the store. Source: rule
 * C4.
 */
@CheckReturnValue
public final class StoreVerifier {
  private final Store store;
  private final StoreContext context;
  private final Tally tally;
  private final KeysVerifier keys;

  private StoreVerifier(Store store, Tally tally) {
    this.store = store;
    this.context = store.context();
    this.tally = tally;
    this.keys = new KeysVerifier(context, tally);
  }

  /**
   * Verifies the store in a directory.
   *
   * @return counts of what was read and found; everything found went to the listener
   * @throws dev.cinch.bag.NotAStoreException if there is none
   * @throws dev.cinch.bag.format.NewerFormatException if it was made by a newer Cinch
   * @throws IOException if its directories can't be listed
   */
  @CanIgnoreReturnValue
  public static VerifySummary verify(
      Path root, Store.Environment environment, VerifyListener listener) throws IOException {
    return verify(Name.of(root), environment, listener);
  }

  /** As {@link #verify(Path, Store.Environment, VerifyListener)}, in any storage. */
  @CanIgnoreReturnValue
  public static VerifySummary verify(
      Name where, Store.Environment environment, VerifyListener listener) throws IOException {
    var tally = new Tally(listener);
    try {
      new StoreVerifier(Store.open(where, environment), tally).verify();
    } catch (DamagedException e) {
      tally.found(Finding.of(e)); // without store.json nothing else can be judged
    }
    return tally.summary();
  }

  /** As {@link #verify(Path, Store.Environment, VerifyListener)}, of an open store. */
  @CanIgnoreReturnValue
  public static VerifySummary verify(Store store, VerifyListener listener) throws IOException {
    var tally = new Tally(listener);
    new StoreVerifier(store, tally).verify();
    return tally.summary();
  }

  private void verify() throws IOException {
    unlessForeign(this::settings);
    unlessForeign(keys::verify);
    StoreLayout layout = context.layout();
    names(layout.root(), StoreLayout.NAMES);
    unlessForeign(() -> instances(layout.instances()));
    unlessForeign(() -> numbered(layout.limits()));
    unlessForeign(() -> ceilings(layout.ceilings()));
    unlessForeign(this::revocations);
    unlessForeign(() -> empty(layout.clock()));
    List<LogName> logs = store.logs();
    names(layout.logs(), Set.copyOf(logs.stream().map(LogName::value).toList()));
    for (LogName name : logs) {
      log(name);
    }
    unlessForeign(this::cuts);
  }

  private interface Step {
    void run() throws IOException;
  }

  /** What stands in the place of a directory or a file keeps nothing else from being looked at. */
  private void unlessForeign(Step step) throws IOException {
    try {
      step.run();
    } catch (ForeignEntryException e) {
      tally.found(Finding.of(e));
    }
  }

  /** Nothing stays in it, but for what a crash left. */
  private void empty(Name directory) throws IOException {
    List<String> unused = list(directory);
  }

  private void revocations() throws IOException {
    Name directory = context.layout().revocations();
    if (list(context.layout().service()).contains(directory.last())) {
      list(directory).stream()
          .filter(name -> !StoreLayout.isRevocation(name) && !Name.isTemporary(name))
          .forEach(name -> tally.foreign(directory.resolve(name)));
      List<Revocation> unused = StoreRevocations.all(context, e -> tally.found(Finding.of(e)));
    }
  }

  private void cuts() throws IOException {
    Name directory = context.layout().cuts();
    for (String name : list(directory)) {
      Name path = directory.resolve(name);
      if (StoreLayout.cutsGone(name).isPresent()) {
        tally.file(context, path);
      } else if (Numbered.parse(name).isEmpty()) {
        tally.foreign(path);
      }
    }
    var cuts = new Cuts(store);
    for (long number : cuts.numbers()) {
      Name path = context.layout().cut(number);
      try {
        StoreCut cut = cuts.find(number);
        tally.read(context.storage(), path);
        for (StoreCut.Part part : cut.logs()) {
          cut(cut, part, path);
        }
      } catch (NoSuchCutException | NoSuchFileException e) {
        continue; // gc removed it meanwhile
      } catch (IOException e) {
        tally.found(Finding.of(e, path, "a cut"));
      }
    }
  }

  /** A log that was removed, or made anew, says nothing of what it had. */
  private void cut(StoreCut cut, StoreCut.Part part, Name path) throws IOException {
    try {
      Log log = store.log(part.name());
      if (log.id().equals(part.log())) {
        Cuts.differs(cut, part, log)
            .ifPresent(why -> tally.bad(path, "a cut that the logs reach", why));
      }
    } catch (NotAStoreException e) {
      return; // removed
    } catch (DamagedException e) {
      return; // told with the log
    }
  }

  private void instances(Name directory) throws IOException {
    signed(directory, () -> StoreShards.lookAsPermitted(context).strays());
  }

  private void ceilings(Name directory) throws IOException {
    signed(directory, () -> StoreCeilings.of(context).strays());
  }

  private interface Strays {
    List<Name> find() throws IOException;
  }

  /** What servers of the lease service left, which counts by the signature of a key. */
  private void signed(Name directory, Strays strays) throws IOException {
    var unsigned = new HashSet<Name>();
    try {
      unsigned.addAll(strays.find());
    } catch (ForeignEntryException e) {
      throw e;
    } catch (DamagedException e) {
      // Keys that can't be read were told.
    } catch (NoSuchFileException e) {
      // A directory that is missing holds nothing.
    }
    for (String name : list(directory)) {
      Name path = directory.resolve(name);
      if (unsigned.contains(path)) {
        tally.found(
            Finding.note(path, 0, "what a key of the store signed", "what counts for nothing"));
      } else if (!Name.isTemporary(name)) {
        tally.file(context, path);
      }
    }
  }

  private void settings() throws IOException {
    Name path = context.layout().settings();
    tally.read(context.storage(), path);
    byte[] expected = context.identity().encode();
    try {
      int unused =
          context
              .storage()
              .read(path, StoreIdentity.MAX_BYTES, Freshness.CACHED, b -> same(path, expected, b));
    } catch (ForeignEntryException e) {
      throw e;
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    }
  }

  private static int same(Name path, byte[] expected, byte[] actual) throws DamagedException {
    int differs = Arrays.mismatch(expected, actual);
    if (differs >= 0) {
      throw new DamagedException(path, differs, "store.json as init writes it", "other bytes");
    }
    return actual.length;
  }

  private void numbered(Name directory) throws IOException {
    for (String name : list(directory)) {
      if (Numbered.parse(name).isEmpty()) {
        tally.foreign(directory.resolve(name));
      } else {
        tally.file(context, directory.resolve(name));
      }
    }
  }

  /** The number of the last record that a listing shows; 0 if there is none, or nobody may list. */
  private void log(LogName name) throws IOException {
    Name identity = context.layout().log(name).identity();
    try {
      List<Log> whole = store.whole(List.of(name));
      if (whole.isEmpty() && (isStray(name) || removed(name))) {
        return;
      }
      if (whole.isEmpty()) {
        tally.found(
            Finding.note(identity, 0, "the identity of a log", "none yet: it has no message"));
        return;
      }
      Log log = whole.get(0);
      tally.logs++;
      tally.read(context.storage(), identity);
      new LogVerifier(log.context(), keys, tally).verify();
      passing(log);
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
    } catch (NotAStoreException e) {
      tally.found(Finding.damage(identity, 0, "the identity of a log", "no file"));
    } catch (IOException e) {
      tally.found(Finding.of(e, context.layout().log(name).root(), "a log"));
    }
  }

  /** Whether what has the name is no directory: told as foreign. */
  private boolean isStray(LogName name) throws IOException {
    Name root = context.layout().log(name).root();
    try {
      List<String> unused = context.storage().list(root, Freshness.CACHED);
      return false;
    } catch (ForeignEntryException e) {
      tally.foreign(root);
      return true;
    }
  }

  /** What is left of a log that was removed means nothing. */
  private boolean removed(LogName name) throws IOException {
    Optional<Removal> removal = new RemovedLogs(context).find(name);
    if (removal.isEmpty()) {
      return false;
    }
    Name path = context.layout().log(name).removed();
    tally.read(path, removal.get().encode().length);
    return true;
  }

  /** A log of which no message passes is as good as lost, and says nothing by itself. */
  private void passing(Log log) throws IOException {
    if (store.settings().leases() != StoreSettings.Leases.REQUIRED) {
      return;
    }
    var first = new AtomicReference<String>();
    var faulty = new AtomicReference<String>();
    var passed = new AtomicBoolean();
    try {
      log.reader()
          .settled(
              Long.MIN_VALUE,
              Long.MAX_VALUE,
              m -> {
                passed.set(true);
                return false;
              },
              (m, file, why) -> {
                first.compareAndSet(null, why);
                if (!why.equals(LogReader.NAMES_NO_LEASE)) {
                  faulty.compareAndSet(null, why);
                }
              });
    } catch (ExpiredException e) {
      passing(log); // what is left is judged
      return;
    }
    if (first.get() == null || passed.get()) {
      return;
    }
    Name root = log.context().layout().root();
    String expected = "a message that a valid lease permits";
    String actual = "all left out, the first because ";
    tally.found(
        faulty.get() == null // whoever wrote them has no lease, and the keys may be right
            ? Finding.note(root, 0, expected, actual + first.get())
            : Finding.damage(root, 0, expected, actual + faulty.get()));
  }

  private void names(Name directory, Set<String> allowed) throws IOException {
    tally.names(context, directory, allowed);
  }

  private List<String> list(Name directory) throws IOException {
    return context.storage().listIfThere(directory, Freshness.CACHED);
  }
}
