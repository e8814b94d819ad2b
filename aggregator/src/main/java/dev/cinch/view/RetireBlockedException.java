package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.storage.ForeignEntryException;
import dev.cinch.view.Retention.Plan;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Something that is retired cannot be removed by this user: names a directory, whose it is and the
 * remedy. Everything else was removed; a later run, by who may, removes the rest.
 */
@CheckReturnValue
public class RetireBlockedException extends IOException {
  private static final long serialVersionUID = 1;

  private final transient Plan done;

  /**
   * @param cause what is there, if it is neither file nor directory, or not ours (rule N7)
   * @param others how many more buckets and records stay
   */
  RetireBlockedException(ForeignEntryException cause, long others, Plan done) {
    super(
        cause.getMessage()
            + "; all else was retired"
            + (others == 0 ? "" : " (but for " + others + " more)"),
        cause);
    this.done = done;
  }

  /**
   * @param directory the first one that nothing may be removed from
   * @param uid numeric owner
   * @param others how many more buckets and records stay
   */
  RetireBlockedException(Path directory, int uid, long others, Plan done, IOException cause) {
    super(
        directory
            + ": cannot retire what is in it: permission denied; it belongs to user "
            + uid
            + ", run gc as that user or as root"
            + (others == 0 ? "" : " (and " + others + " more)"),
        cause);
    this.done = done;
  }

  /** What went all the same. */
  public Plan done() {
    return done;
  }
}
