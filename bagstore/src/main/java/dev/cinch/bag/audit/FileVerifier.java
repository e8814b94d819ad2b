package dev.cinch.bag.audit;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.read.Window;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Checks every byte of one data file up to its valid length. Used once. It goes on behind a damaged
 * batch as long as heads lead from one to the next; memory is bounded by the longest batch.
 */
@CheckReturnValue
final class FileVerifier {
  /** After so many findings in one file the rest of it is not worth a line each. */
  private static final int MOST_FINDINGS = 100;

  private final Path path;
  private final FileHeader expected;
  private final StoreFile in;
  private final WitnessVerifier keys;
  private final List<Finding> findings = new ArrayList<>();
  private final FrameCodec codec;
  private long messages;
  private long witnesses;
  private long first;
  private long last = Long.MIN_VALUE;
  private int digest;

  FileVerifier(Path path, FileHeader expected, StoreFile in, WitnessVerifier keys) {
    this.path = path;
    this.expected = expected;
    this.in = in;
    this.keys = keys;
    this.codec = new FrameCodec(expected.name());
  }

  /** Messages met. */
  long messages() {
    return messages;
  }

  /** Compares a file with what its bucket's lock says of it. */
  List<Finding> settled(LockedFile locked, long size) throws IOException {
    compareCopy(locked, size);
    if (size > locked.validLength()) {
      add(
          Severity.NOTE,
          locked.validLength(),
          "the end of the file",
          (size - locked.validLength()) + " bytes that do not exist for readers");
    }
    if (locked.validLength() == 0) {
      return findings;
    }
    var window = new Window(in, locked.validLength(), locked.copy());
    boolean whole = header(window, Severity.DAMAGE);
    whole &= walk(window, locked.validLength(), Severity.DAMAGE);
    if (whole) {
      same("messages", locked.messages(), messages);
      same("as first timestamp", locked.first(), first);
      same("as last timestamp", locked.last(), last);
      same("as digest", locked.digest() & 0xffff_ffffL, digest & 0xffff_ffffL);
    }
    return findings;
  }

  /** Reads a file of a bucket that is not closed: what is not whole at its end is a torn tail. */
  List<Finding> open(long size) throws IOException {
    var window = new Window(in, size, new byte[0]);
    if (header(window, destroyed(size) ? Severity.DAMAGE : Severity.NOTE)) {
      boolean unused = walk(window, size, Severity.NOTE);
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
    byte[] right = expected.encode().array();
    var window = new Window(in, size, new byte[0]);
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

  /** Whether a second step of the first batch, or a second batch, was begun. */
  private boolean forcedBefore(Window window) throws IOException {
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

  private boolean header(Window window, Severity severity) throws IOException {
    int length = expected.length();
    digest = FileHeader.digest(expected.encode());
    Optional<FileHeader> header = Optional.empty();
    if (window.load(0, length)) {
      header =
          FileHeader.decode(
              ByteBuffer.wrap(window.bytes(), 0, length).slice().order(ByteOrder.LITTLE_ENDIAN));
    }
    if (header.isPresent() && header.get().equals(expected)) {
      return true;
    }
    add(severity, 0, "the header of this file", header.isPresent() ? "another's" : "none");
    return false;
  }

  /** True if it came to the limit. */
  private boolean walk(Window window, long limit, Severity severity) throws IOException {
    long offset = expected.length();
    while (offset < limit) {
      FrameHead head = null;
      if (window.load(offset, Frame.HEAD)) {
        head = codec.head(window.view(), window.at(offset), offset);
      }
      if (head == null
          || offset + head.frameLength() > limit
          || !window.load(offset, (int) head.frameLength())) {
        add(severity, offset, "a whole batch", severity == Severity.NOTE ? "a torn tail" : "none");
        return false;
      }
      if (!frame(window, offset, head, severity) && severity == Severity.NOTE) {
        return false;
      }
      offset += head.frameLength();
      if (findings.size() >= MOST_FINDINGS) {
        return false;
      }
    }
    return true;
  }

  private boolean frame(Window window, long offset, FrameHead head, Severity severity) {
    ByteBuffer view = window.view();
    long trailerOffset = offset + head.frameLength() - Frame.TRAILER;
    int at = window.at(offset);
    Trailer trailer = codec.trailer(view, window.at(trailerOffset), trailerOffset);
    int computed =
        codec
            .beginDigest(head.digestBefore(), view, at)
            .digestBody(view, at + Frame.HEAD, head.bodyLength())
            .digest();
    int before = findings.size();
    if (head.digestBefore() != digest) {
      add(severity, offset, "a batch that follows digest " + hex(digest), hex(head.digestBefore()));
    }
    if (trailer == null || trailer.frameOffset() != offset) {
      add(severity, trailerOffset, "the trailer of the batch", "none");
    } else if (trailer.digest() != computed) {
      add(severity, offset, "digest " + hex(trailer.digest()), hex(computed));
    }
    if (findings.size() == before) {
      entries(window, offset + Frame.HEAD, trailerOffset, head, severity);
    } else {
      messages += head.messages();
    }
    if (trailer != null) {
      boolean agrees =
          trailer.messages() == messages && trailer.last() == last && trailer.first() == first;
      if (!agrees && findings.size() == before) {
        add(
            severity,
            trailerOffset,
            "%d messages from %d to %d".formatted(messages, first, last),
            "%d from %d to %d".formatted(trailer.messages(), trailer.first(), trailer.last()));
      }
      messages = trailer.messages(); // so that one damaged batch is told once
      first = trailer.first();
      last = trailer.last();
    }
    digest = trailer != null ? trailer.digest() : computed;
    return findings.size() == before;
  }

  private void entries(Window window, long from, long end, FrameHead head, Severity severity) {
    ByteBuffer view = window.view();
    long entry = from;
    int sets = 0;
    int count = 0;
    while (entry < end) {
      int at = window.at(entry);
      int word = end - entry < 4 ? 0 : view.getInt(at);
      int n = Frame.length(word);
      int kind = Frame.kind(word);
      int overhead = kind == Frame.KIND_MESSAGE ? Frame.MESSAGE_OVERHEAD : 4;
      if (kind < Frame.KIND_MESSAGE
          || kind > Frame.KIND_LEASE_SET
          || (kind == Frame.KIND_LEASE_SET && (n & 3) != 0)
          || end - entry < (long) overhead + n) {
        add(severity, entry, "an entry of the batch", "kind " + kind + " of " + n + " bytes");
        return;
      }
      if (kind == Frame.KIND_MESSAGE) {
        message(entry, view.getInt(at + 4), view.getLong(at + 8), sets, severity);
        count++;
      } else if (kind == Frame.KIND_WITNESS) {
        witness(entry, Arrays.copyOfRange(window.bytes(), at + 4, at + 4 + n));
      } else {
        sets++;
        for (int i = 0; i < n / 4; i++) {
          int number = view.getInt(at + 4 + 4 * i);
          if (number < 1 || number > witnesses) {
            add(severity, entry, "witnesses that stand before", "number " + number);
          }
        }
      }
      entry += overhead + n;
    }
    if (count != head.messages()) {
      add(severity, from - Frame.HEAD, head.messages() + " messages", "" + count);
    }
  }

  private void message(long entry, int set, long timestamp, int sets, Severity severity) {
    if (messages++ == 0) {
      first = timestamp;
    }
    if (set < 0 || set > sets) {
      add(severity, entry, "a lease set that stands before", "number " + set);
    }
    if (timestamp < last) {
      add(severity, entry, "a timestamp not below " + last, "" + timestamp);
    }
    if (!expected.bucket().contains(timestamp)) {
      add(severity, entry, "a timestamp of the bucket", "" + timestamp);
    }
    last = timestamp;
  }

  private void witness(long entry, byte[] signed) {
    witnesses++;
    try {
      Object unused = keys.verify(signed);
    } catch (WitnessException e) {
      add(Severity.NOTE, entry, "a witness that a trusted key signed", e.getMessage() + "");
    }
  }

  private void same(String what, long locked, long counted) {
    if (locked != counted) {
      add(Severity.DAMAGE, 0, locked + " " + what + " (says the lock)", "" + counted);
    }
  }

  private static String hex(int digest) {
    return "%08x".formatted(digest);
  }

  private void add(Severity severity, long offset, String wanted, String actual) {
    if (findings.size() < MOST_FINDINGS) {
      findings.add(new Finding(severity, path, offset, wanted, actual));
    }
  }
}
