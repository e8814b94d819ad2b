package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Which keys of a store count for a log (rule F3). All who judge witnesses ask this: readers of
 * what is settled and of what is not, closers, sessions and audits.
 *
 * <p>It goes by the last record of the log that the caller goes by. The keys which that counts must
 * be there, have the digest that it names, and be signed; those after them count as far as each is
 * signed. In a store with {@code leases: optional} no message depends on keys, and a lost or
 * altered one stops nobody: the keys before it are all then.
 *
 * <p>Thread-safe. Key files never change, so each is read once.
 */
@CheckReturnValue
public final class CountingKeys {
  /**
   * What a record of a log says of keys (rule F3).
   *
   * @param keys how many apply, from the first
   * @param digest of these, as its closer read them
   */
  public record KeyCount(int keys, String digest) {}

  private final StoreContext store;
  private final Optional<HorizonRecord> tip;
  private final boolean required;

  private final List<PublicKey> read = new ArrayList<>();
  private boolean checked;
  private boolean altered;

  /**
   * @param tip the record that the caller goes by; empty if there is none yet
   */
  public CountingKeys(StoreContext store, Optional<HorizonRecord> tip) {
    this(store, tip, store.settings().leases() == StoreSettings.Leases.REQUIRED);
  }

  private CountingKeys(StoreContext store, Optional<HorizonRecord> tip, boolean required) {
    this.store = store;
    this.tip = tip;
    this.required = required;
  }

  /** For who knows of no record: the first key, and those that are signed. */
  public static CountingKeys ofStore(StoreContext store) {
    return new CountingKeys(store, Optional.empty());
  }

  /** The same for who does nothing without keys, also where no message depends on them. */
  public CountingKeys strict() {
    return new CountingKeys(store, tip, true);
  }

  /**
   * The first {@code count} keys, as a record or a segment that the last record follows says.
   *
   * @throws DamagedException if messages depend on them and they are not those that were counted
   */
  public synchronized TrustedKeys counted(int count) throws IOException {
    int least = tip.map(HorizonRecord::trustedKeys).orElse(0);
    try {
      load(Math.max(count, least));
      checkTip();
    } catch (DamagedException e) {
      if (required) {
        throw e;
      }
    }
    return all().first(Math.min(count, all().size()));
  }

  /**
   * The keys that a record counts.
   *
   * @throws DamagedException as {@link #counted(int)}; also if the record names others
   */
  public TrustedKeys counted(HorizonRecord record, Name path) throws IOException {
    TrustedKeys keys = counted(record.trustedKeys());
    if (required) {
      check(record, keys, path);
    }
    return keys;
  }

  /**
   * All that count now, past every cache where this user may create files in the store; else as far
   * as this machine knows.
   *
   * @throws DamagedException as {@link #counted(int)}; also if there is one behind a gap
   */
  public TrustedKeys now() throws IOException {
    return signed(store.storage().list(store.layout().keys(), Freshness.PERMITTED));
  }

  /**
   * What the next record of the log says of keys: those that count now, and no fewer than the one
   * before counts.
   *
   * @throws DamagedException as {@link #now}
   */
  public KeyCount next() throws IOException {
    Name directory = store.layout().keys();
    // Where this user may only read, whoever adds a key waits for caches: TrustedKeyFiles.
    List<String> names = store.storage().list(directory, Freshness.PERMITTED);
    // After the listing: a record that names a key may not outlive it, whoever added that.
    store.storage().secure(directory);
    TrustedKeys keys = signed(names);
    int least = tip.map(HorizonRecord::trustedKeys).orElse(0);
    String before = tip.map(HorizonRecord::keysDigest).orElse("");
    boolean same =
        tip.isEmpty() || keys.size() >= least && keys.first(least).digest().equals(before);
    // Else nobody is stopped here, and what was counted may be found again.
    return same ? new KeyCount(keys.size(), keys.digest()) : new KeyCount(least, before);
  }

  private synchronized TrustedKeys signed(List<String> names) throws IOException {
    int counted = counted(tip.map(HorizonRecord::trustedKeys).orElse(0)).size();
    List<Long> numbers = TrustedKeyFiles.numbers(names);
    try {
      try {
        judge(counted, numbers);
      } catch (DamagedException e) {
        judge(counted, TrustedKeyFiles.possible(store, numbers));
      }
    } catch (DamagedException e) {
      if (required) {
        throw e;
      }
    }
    return all();
  }

  /** Reads and judges those behind the counted ones, up to the first that does not count. */
  private void judge(int counted, List<Long> numbers) throws IOException {
    long last = numbers.isEmpty() ? 0 : numbers.get(numbers.size() - 1);
    for (long n = counted + 1L; n <= last; n++) {
      KeyFile file = file(n, last);
      Optional<String> objection = KeyRules.objection(store.identity(), n, file, read);
      if (objection.isPresent() && n > 1) {
        break; // whoever may create files in the store may have put it there
      }
      add(n, file, objection);
    }
  }

  /** Where one of those that were counted is another now, nobody knows which. */
  private TrustedKeys all() {
    return altered ? TrustedKeys.NONE : new TrustedKeys(read);
  }

  /** Reads and judges up to a number. */
  private void load(int count) throws IOException {
    for (long n = read.size() + 1L; n <= count; n++) {
      KeyFile file = file(n, count);
      add(n, file, KeyRules.objection(store.identity(), n, file, read));
    }
  }

  private void add(long number, KeyFile file, Optional<String> objection) throws DamagedException {
    if (objection.isPresent()) {
      throw new DamagedException(
          TrustedKeyFiles.path(store, number), 0, KeyRules.expected(number), objection.get());
    }
    if (read.size() < number) {
      read.add(file.key());
    }
  }

  private KeyFile file(long number, long count) throws IOException {
    Name path = TrustedKeyFiles.path(store, number);
    try {
      return TrustedKeyFiles.read(store, path);
    } catch (NoSuchFileException e) {
      String missing = "no " + Numbered.name(number);
      throw new DamagedException(store.layout().keys(), 0, count + " trusted keys", missing);
    }
  }

  private void checkTip() throws DamagedException {
    if (checked || tip.isEmpty()) {
      return;
    }
    TrustedKeys keys = new TrustedKeys(read).first(tip.get().trustedKeys());
    Name keyFiles = keys.size() == 1 ? TrustedKeyFiles.path(store, 1) : store.layout().keys();
    try {
      check(tip.get(), keys, keyFiles);
    } catch (DamagedException e) {
      altered = true;
      throw e;
    }
    checked = true;
  }

  private static void check(HorizonRecord record, TrustedKeys keys, Name path)
      throws DamagedException {
    if (!keys.digest().equals(record.keysDigest())) {
      String expected =
          "%d trusted keys of SHA-256 %s, as in record %d"
              .formatted(keys.size(), record.keysDigest(), record.number());
      throw new DamagedException(path, 0, expected, "keys of SHA-256 " + keys.digest());
    }
  }
}
