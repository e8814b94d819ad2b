package dev.cinch.bag.file;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A settled message with what an audit (section 8) must know beyond what a reader does: what it was
 * written under, valid or not, and where that stands. Valid until its source goes on to the next.
 */
public interface Evidence extends Message {
  /** The file that it was read from: a data file or, once its bucket is retired, a segment. */
  Name path();

  /** Where in that file its batch, or in a segment its block, begins; bytes. */
  long offset();

  /** What it was written under; null if under no lease. */
  @Nullable LeaseSet leaseSet();

  /** Its witnesses as they stood in the data file, valid or not; empty if under no lease. */
  List<byte[]> signedLeases();

  /** Gives the messages of one bucket or settled file, in order. Not thread-safe. */
  interface Source extends Closeable {
    /** The next one, valid until the call after it; null at the end. */
    @Nullable Evidence pull() throws IOException;

    /** What was lost of what it came to, when its bucket was closed (rule C4). */
    List<DamagedException> lost();
  }

  /** Takes all that there is, for an audit. */
  interface Sink {
    /**
     * @param settledBefore how far the log was settled when the record was linked that settles the
     *     message: its {@code from}
     */
    void message(Evidence message, long settledBefore);

    /** Something can't be read as it must; the rest of that bucket or segment is left out. */
    void damaged(DamagedException e);
  }
}
