package dev.cinch.bag.storage;

import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import java.io.IOException;

/**
 * Another store, or another log, stands where this process opened one (protocol.md, section 1).
 * What it was about to publish was not. To try again does not help: open the store anew.
 */
public final class StoreReplacedException extends IOException {
  private static final long serialVersionUID = 1;

  public StoreReplacedException(Name file, String what, Id expected, Id actual) {
    super(
        "%s: expected %s %s, found %s: it was made anew, or another one is mounted here; start this"
                .formatted(file, what, expected, actual)
            + " command again to work on what is here now");
  }

  private StoreReplacedException(String message) {
    super(message);
  }

  /** Of a backup, which only further backups change. */
  public static StoreReplacedException backup(Name root) {
    return new StoreReplacedException(
        root + " is a backup: to write to it, run cinch backup --restore " + root + " once");
  }
}
