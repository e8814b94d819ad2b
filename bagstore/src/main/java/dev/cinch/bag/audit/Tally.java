package dev.cinch.bag.audit;

import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.StoreContext;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Counts while verifying, and passes on. Not thread-safe. */
final class Tally {
  private final VerifyListener listener;
  private long files;
  private long bytes;
  long logs;
  long records;
  long buckets;
  long messages;
  private long damage;
  private long notes;
  private @Nullable List<Finding> held;

  Tally(VerifyListener listener) {
    this.listener = listener;
  }

  /** Something that may have been retired. */
  interface Retired {
    boolean test() throws IOException;
  }

  /** Something that is looked at. */
  interface Look {
    void run();
  }

  /**
   * Looks at something that somebody may retire meanwhile: if there is damage, and it was, the
   * segments count, and what was found means nothing.
   */
  void unlessRetired(Look look, Retired retired) throws IOException {
    var found = new ArrayList<Finding>();
    held = found;
    try {
      look.run();
    } finally {
      held = null;
    }
    boolean damaged = found.stream().anyMatch(f -> f.severity() == Finding.Severity.DAMAGE);
    if (!damaged || !retired.test()) {
      found.forEach(this::found);
    }
  }

  void found(Finding f) {
    List<Finding> waiting = held;
    if (waiting != null) {
      waiting.add(f);
      return;
    }
    switch (f.severity()) {
      case DAMAGE -> damage++;
      case NOTE -> notes++;
    }
    listener.found(f);
  }

  void foreign(Name path) {
    found(Finding.foreign(path));
  }

  void bad(Name path, String expected, String actual) {
    found(Finding.damage(path, 0, expected, actual));
  }

  /** Tells what stands in a directory and has another name than may stand there. */
  void names(StoreContext store, Name directory, Set<String> allowed) throws IOException {
    for (String name : store.storage().listIfThere(directory, Freshness.CACHED)) {
      if (!allowed.contains(name)) {
        foreign(directory.resolve(name));
      }
    }
  }

  /** Its name says all; still, it is a file. */
  void file(StoreContext store, Name path) throws IOException {
    try {
      boolean unused = store.storage().isThere(path, Freshness.CACHED);
    } catch (ForeignEntryException e) {
      found(Finding.of(e));
    } catch (AccessDeniedException e) {
      return; // nobody's to read: its name says all
    }
  }

  /** Whether anything damaged was told so far. */
  boolean isDamaged() {
    return damage > 0;
  }

  void read(Storage storage, Name document) throws IOException {
    try (Stored in = storage.open(document, Freshness.PERMITTED)) {
      read(document, in.size());
    }
  }

  void read(Name file, long size) {
    files++;
    bytes += size;
    listener.progress(file, summary());
  }

  VerifySummary summary() {
    return new VerifySummary(files, bytes, logs, records, buckets, messages, damage, notes);
  }
}
