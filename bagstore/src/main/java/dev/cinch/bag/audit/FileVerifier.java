package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.file.DataFileCursor;
import dev.cinch.bag.file.DataFileExtent;
import dev.cinch.bag.file.LeaseTable;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.file.Window;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.storage.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Checks every byte of one data file of a bucket that is not closed, as its closer will. Used once;
 * memory is bounded by the longest batch.
 */
@CheckReturnValue
final class FileVerifier {
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

  /** Messages met. */
  long messages() {
    return messages;
  }

  /** Reads a file of a bucket that is not closed: what is not whole at its end is a torn tail. */
  List<Finding> open(long size) throws IOException {
    try (var cursor =
        new DataFileCursor(path, expected, in, uncached, size, true, leases, new OpenFiles(1)) {
          @Override
          protected void witness(long offset, String fault) {
            if (!fault.isEmpty()) {
              add(Severity.NOTE, offset, "a witness that a trusted key signed", fault);
            }
          }
        }) {
      while (cursor.next()) {
        messages++;
      }
      DataFileExtent extent = cursor.extent();
      for (Hole hole : extent.holes()) {
        add(Severity.DAMAGE, hole.from(), "whole batches up to byte " + hole.to(), "damaged ones");
      }
      DamagedException torn = cursor.torn();
      if (torn != null && torn.offset() == 0) {
        add(destroyed(size) ? Severity.DAMAGE : Severity.NOTE, 0, torn.expected(), torn.actual());
      } else if (torn != null) {
        add(Severity.NOTE, torn.offset(), torn.expected(), "a torn tail");
      }
    }
    return findings;
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
      var window = new Window(again, size);
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

  /** Whether a second batch was begun, and so the first one was written. */
  private boolean forcedBefore(Window window) throws IOException {
    var codec = new FrameCodec(expected.name());
    long offset = expected.length();
    FrameHead first =
        window.load(offset, Frame.HEAD)
            ? codec.head(window.view(), window.at(offset), offset)
            : null;
    if (first == null) {
      return false;
    }
    long next = offset + first.frameLength();
    return window.load(next, Frame.HEAD)
        && codec.head(window.view(), window.at(next), next) != null;
  }

  private void add(Severity severity, long offset, String wanted, String actual) {
    if (findings.size() < MOST_FINDINGS) {
      findings.add(new Finding(severity, path, offset, wanted, actual));
    }
  }
}
