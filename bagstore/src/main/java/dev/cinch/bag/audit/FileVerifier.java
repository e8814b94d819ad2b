package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.read.DataFileCursor;
import dev.cinch.bag.read.LeaseTable;
import dev.cinch.bag.read.OpenFiles;
import dev.cinch.bag.read.Standing;
import dev.cinch.bag.read.Window;
import dev.cinch.bag.storage.Stored;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Checks every byte of one data file up to its valid length: reads it as readers do, and goes on
 * behind a damaged batch as long as heads lead from one to the next. Used once; memory is bounded
 * by the longest batch.
 */
@CheckReturnValue
public final class FileVerifier {
  /** After so many findings in one file the rest of it is not worth a line each. */
  private static final int MOST_FINDINGS = 100;

  private final Path path;
  private final FileHeader expected;
  private final Stored in;
  private final OpenFiles.Opening uncached;
  private final LeaseTable leases;
  private final List<Finding> findings = new ArrayList<>();
  private long messages;

  /**
   * @param uncached opens the file once more, before damage is believed (rule N5)
   */
  FileVerifier(
      Path path, FileHeader expected, Stored in, OpenFiles.Opening uncached, LeaseTable leases) {
    this.path = path;
    this.expected = expected;
    this.in = in;
    this.uncached = uncached;
    this.leases = leases;
  }

  /**
   * For who asks whether the bytes are whole, and not who signed the witnesses among them.
   *
   * @param path for findings
   */
  public static FileVerifier ofBytes(
      Path path, FileHeader expected, Stored in, OpenFiles.Opening uncached, LogContext log) {
    var nobody = new LeaseTable(new WitnessVerifier(TrustedKeys.NONE), log);
    return new FileVerifier(path, expected, in, uncached, nobody);
  }

  /** Messages met. */
  long messages() {
    return messages;
  }

  /** Compares a file with what its bucket's lock says of it. */
  public List<Finding> settled(LockedFile locked, long size) throws IOException {
    compareCopy(locked, size);
    if (size > locked.validLength()) {
      add(
          Severity.NOTE,
          locked.validLength(),
          "the end of the file",
          (size - locked.validLength()) + " bytes that do not exist for readers");
    }
    if (locked.validLength() > 0) {
      Object unused = read(locked, Standing.LOCKED, Severity.DAMAGE);
    }
    return findings;
  }

  /** Reads a file of a bucket that is not closed: what is not whole at its end is a torn tail. */
  List<Finding> open(long size) throws IOException {
    var whole = new LockedFile(expected.name(), size, 0, 0, 0, 0, new byte[0]);
    DamagedException torn = read(whole, Standing.OPEN, Severity.NOTE);
    if (torn != null && torn.offset() == 0) {
      add(destroyed(size) ? Severity.DAMAGE : Severity.NOTE, 0, torn.expected(), torn.actual());
    } else if (torn != null) {
      add(Severity.NOTE, torn.offset(), torn.expected(), "a torn tail");
    }
    return findings;
  }

  /** Null, or why a file of an open bucket ends before its last byte. */
  private @Nullable DamagedException read(LockedFile locked, Standing standing, Severity severity)
      throws IOException {
    try (var cursor =
        new DataFileCursor(
            path, expected, in, uncached, locked, standing, leases, new OpenFiles(1)) {
          @Override
          protected void witness(long offset, String fault) {
            if (!fault.isEmpty()) {
              add(Severity.NOTE, offset, "a witness that a trusted key signed", fault);
            }
          }
        }) {
      boolean more = true;
      while (more && findings.size() < MOST_FINDINGS) {
        try {
          more = false;
          batches(cursor, severity);
        } catch (DamagedException e) {
          add(severity, e.offset(), e.expected(), e.actual());
          more = severity == Severity.DAMAGE && cursor.skip();
        }
      }
      return cursor.torn();
    }
  }

  /** Whether each trailer counts what stands before it: readers go by that of the last alone. */
  private void batches(DataFileCursor m, Severity severity) throws IOException {
    Trailer batch = null;
    long offset = 0;
    long last = 0;
    boolean more = m.next();
    while (more) {
      batch = m.trailer();
      offset = m.offset();
      while (more && m.offset() == offset) {
        messages = m.position() + 1;
        last = m.timestamp();
        more = m.next();
      }
      Trailer t = Objects.requireNonNull(batch);
      if (t.messages() != messages || t.first() != m.first() || t.last() != last) {
        add(
            severity,
            offset,
            "%d messages from %d to %d".formatted(messages, m.first(), last),
            "%d from %d to %d".formatted(t.messages(), t.first(), t.last()));
      }
    }
  }

  /**
   * Whether a header was there and no longer is, so that committed messages may be lost. What did
   * not arrive of a write, whose pieces may arrive in any order, are zeros or the end of the file.
   * So a byte that is neither right nor zero was changed; and zeros were, where something behind
   * was written after the header had been forced.
   */
  private boolean destroyed(long size) throws IOException {
    try (Stored again = uncached.open()) {
      byte[] right = expected.encode().array();
      var window = new Window(again, size, new byte[0]);
      if (!window.load(0, right.length)) {
        return false;
      }
      byte[] there = Arrays.copyOf(window.bytes(), right.length);
      if (FileHeader.decode(ByteBuffer.wrap(there).order(ByteOrder.LITTLE_ENDIAN)).isPresent()) {
        return false; // whole, and this file's or put here from elsewhere
      }
      for (int i = 0; i < right.length; i++) {
        if (there[i] != right[i] && there[i] != 0) {
          return true;
        }
      }
      return forcedBefore(window);
    }
  }

  /** Whether a second step of the first batch, or a second batch, was begun. */
  private boolean forcedBefore(Window window) throws IOException {
    var codec = new FrameCodec(expected.name());
    long offset = expected.length();
    FrameHead first =
        window.load(offset, Frame.HEAD)
            ? codec.head(window.view(), window.at(offset), offset)
            : null;
    if (first == null || !window.load(offset, (int) first.frameLength())) {
      return false;
    }
    long next = offset + first.frameLength();
    long end = next - Frame.TRAILER;
    Trailer trailer = codec.trailer(window.view(), window.at(end), end);
    return trailer != null
        && (trailer.twoStep()
            || (window.load(next, Frame.HEAD)
                && codec.head(window.view(), window.at(next), next) != null));
  }

  /** The last bytes stand in the lock too; where they differ, the lock's count (rule C3). */
  private void compareCopy(LockedFile locked, long size) throws IOException {
    byte[] copy = locked.copy();
    ByteBuffer there = ByteBuffer.allocate(copy.length);
    if (copy.length > 0 && size > locked.copyOffset()) {
      int unused = in.read(there, locked.copyOffset());
    }
    int differs = Arrays.mismatch(copy, Arrays.copyOf(there.array(), there.position()));
    if (differs >= 0) {
      add(
          Severity.COVERED,
          locked.copyOffset() + differs,
          "the bytes that the lock holds a copy of",
          differs < there.position() ? "others" : "the end of the file");
    }
  }

  private void add(Severity severity, long offset, String wanted, String actual) {
    if (findings.size() < MOST_FINDINGS) {
      findings.add(new Finding(severity, path, offset, wanted, actual));
    }
  }
}
