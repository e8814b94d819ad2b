package dev.cinch.bag.read;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.DataFileName;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Walks the messages of one data file in order, checking every frame. It is its own current
 * message. Not thread-safe.
 *
 * <p>In a closed bucket whatever is wrong before the valid length is damage; in an open one the
 * first frame that is not whole is the end.
 */
final class DataFileCursor extends Cursor implements Closeable {
  /** Whatever its user counts it as. */
  int tag;

  private final Path path;
  private final DataFileName name;
  private final Bucket bucket;
  private final String sortName;
  private final Reopening uncached;
  private final LockedFile locked;
  private final FileHeader expected;
  private final OpenFiles files;
  private StoreFile in;

  /** Null before the start, and while it is forgotten. */
  private @Nullable Window window;

  private boolean started;
  private boolean again;
  private final long limit;
  private final Standing standing;
  private final FrameCodec codec;
  private final LeaseTable leases;

  private long frame;
  private int digest;
  private long first;
  private int left;
  private long payloadAt;
  private long entry;
  private long entriesEnd;
  private long nextFrame;

  /** Opens the file once more, past the cache. */
  interface Reopening {
    StoreFile open() throws IOException;
  }

  /**
   * @param uncached used once, before damage is believed (rule N5); the cursor closes both
   * @param locked what the lock says of it; of a file in an open bucket only how long it is counts
   * @param standing what is said of its messages
   * @param files where it is noted what this holds
   */
  DataFileCursor(
      Path path,
      FileHeader expected,
      StoreFile in,
      Reopening uncached,
      LockedFile locked,
      Standing standing,
      LeaseTable leases,
      OpenFiles files) {
    this.path = path;
    this.expected = expected;
    this.files = files;
    this.name = expected.name();
    this.bucket = expected.bucket();
    this.sortName = name.toString();
    this.in = in;
    this.uncached = uncached;
    this.locked = locked;
    this.limit = locked.validLength();
    this.standing = standing;
    this.codec = new FrameCodec(name);
    this.leases = leases;
  }

  /**
   * When its first message is, by what the lock says of it: so its turn may come before anything of
   * it is read. Empty if it has to be read to know, or has begun.
   */
  OptionalLong firstExpected() {
    return isClosed() && limit > 0 && !started
        ? OptionalLong.of(locked.first())
        : OptionalLong.empty();
  }

  private void start() throws IOException {
    started = true;
    if (hasHeader() || (limit > 0 && readAgain() && hasHeader())) {
      nextFrame = expected.length();
    } else if (isClosed() && limit > 0) {
      throw new DamagedException(path, 0, "the header of this file", "another or none");
    } else {
      nextFrame = limit; // without a valid header its valid length is 0 (rule A4)
    }
  }

  private Window window() {
    if (window == null) {
      window = new Window(in, limit, locked.copy(), files.chunk());
    }
    return window;
  }

  /** Frees what it holds; {@link #load} reads it again. */
  void forget() {
    window = null;
  }

  /** Has the current message's bytes, also if it has forgotten them meanwhile. */
  void load() throws IOException {
    if (window != null || frame == 0) {
      return;
    }
    boolean same = isSameFrame();
    if (!same && readAgain()) {
      same = isSameFrame();
    }
    if (!same) {
      throw damaged(frame, "the batch that stood here a moment ago", "another or none");
    }
    payload = window().at(payloadAt);
    files.holds(this, window().bytes().length);
  }

  private boolean isSameFrame() throws IOException {
    Window w = window();
    int length = (int) (nextFrame - frame);
    if (!w.load(frame, length)) {
      return false;
    }
    int at = w.at(frame);
    FrameHead head = codec.head(w.view(), at, frame);
    return head != null && head.frameLength() == length && computed(head, w.view(), at) == digest;
  }

  private int computed(FrameHead head, ByteBuffer view, int at) {
    return codec
        .beginDigest(head.digestBefore(), view, at)
        .digestBody(view, at + Frame.HEAD, head.bodyLength())
        .digest();
  }

  private boolean hasHeader() throws IOException {
    int length = expected.length();
    Window window = window();
    if (!window.load(0, length)) {
      return false;
    }
    ByteBuffer bytes =
        ByteBuffer.wrap(window.bytes(), 0, length).slice().order(ByteOrder.LITTLE_ENDIAN);
    digest = FileHeader.digest(bytes);
    return FileHeader.decode(bytes).filter(expected::equals).isPresent();
  }

  /** Goes on past the cache; false if it does already (rule N5). */
  private boolean readAgain() throws IOException {
    if (again) {
      return false;
    }
    again = true;
    in.close();
    in = files.file(uncached::open, null);
    window = null;
    return true;
  }

  /** Goes to the next message; false at the end. */
  boolean next() throws IOException {
    if (!started) {
      start();
    } else if (entry < entriesEnd) {
      load();
    }
    while (true) {
      if (entry == entriesEnd) {
        if (left > 0) {
          throw damaged(entry, "another message of the batch", "the end of its body");
        }
        if (!nextFrame()) {
          return false;
        }
      }
      Window window = window();
      ByteBuffer view = window.view();
      int at = window.at(entry);
      if (entriesEnd - entry < 4) {
        throw damaged(entry, "an entry within the body", "the end of it");
      }
      int word = view.getInt(at);
      int n = Frame.length(word);
      int kind = Frame.kind(word);
      int overhead = kind == Frame.KIND_MESSAGE ? Frame.MESSAGE_OVERHEAD : 4;
      if (entriesEnd - entry < (long) overhead + n) {
        throw damaged(entry, "an entry within the body", "one of " + n + " bytes");
      }
      if (kind == Frame.KIND_MESSAGE) {
        message(view, at);
        payloadAt = entry + overhead;
        payload = at + overhead;
        length = n;
        position++;
        left--;
        entry += overhead + n;
        return true;
      }
      if (kind == Frame.KIND_WITNESS) {
        leases.addWitness(Arrays.copyOfRange(window.bytes(), at + 4, at + 4 + n));
      } else if (kind == Frame.KIND_LEASE_SET && (n & 3) == 0) {
        var numbers = new int[n / 4];
        for (int i = 0; i < numbers.length; i++) {
          numbers[i] = view.getInt(at + 4 + 4 * i);
        }
        if (!leases.addSet(numbers)) {
          throw damaged(entry, "witnesses that stand before", Arrays.toString(numbers));
        }
      } else {
        throw damaged(entry, "an entry of a known kind", "kind " + kind);
      }
      entry += overhead + n;
    }
  }

  private void message(ByteBuffer view, int at) throws DamagedException {
    if (left == 0) {
      throw damaged(entry, "no further message in the batch", "one");
    }
    leaseSet = view.getInt(at + 4);
    if (leaseSet != 0 && leases.set(leaseSet) == null) {
      throw damaged(entry, "a lease set that stands before", "number " + leaseSet);
    }
    long before = Math.max(timestamp, bucket.start());
    timestamp = view.getLong(at + 8);
    first = position < 0 ? timestamp : first;
    if (isClosed() && position < 0 && first != locked.first()) { // by which its turn came
      throw damaged(
          entry, "the first timestamp " + locked.first() + " (says the lock)", "" + first);
    }
    if (timestamp < before || timestamp >= bucket.end()) {
      throw damaged(entry, "a timestamp from " + before + " on in the bucket", "" + timestamp);
    }
  }

  private boolean nextFrame() throws IOException {
    if (nextFrame >= limit) {
      checkEnd();
      close(); // of many files it may be the first that ends
      return false;
    }
    frame = nextFrame;
    Window window = window();
    FrameHead head = null;
    if (window.load(frame, Frame.HEAD)) {
      head = codec.head(window.view(), window.at(frame), frame);
    }
    if (head == null || frame + head.frameLength() > limit) {
      return torn(frame, "the head of a batch");
    }
    if (!window.load(frame, (int) head.frameLength())) {
      return torn(frame, "a batch of " + head.frameLength() + " bytes");
    }
    long end = frame + head.frameLength();
    int at = window.at(frame);
    Trailer trailer =
        codec.trailer(window.view(), window.at(end - Frame.TRAILER), end - Frame.TRAILER);
    int computed = computed(head, window.view(), at);
    if (head.digestBefore() != digest
        || trailer == null
        || trailer.frameOffset() != frame
        || trailer.digest() != computed) {
      return torn(frame, "a batch with a valid checksum");
    }
    digest = computed;
    left = head.messages();
    entry = frame + Frame.HEAD;
    entriesEnd = end - Frame.TRAILER;
    nextFrame = end;
    files.holds(this, window.bytes().length);
    leases.beginBatch();
    return true;
  }

  /** At the end of what the lock covers, all must be as it says. */
  private void checkEnd() throws DamagedException {
    if (isClosed()
        && limit > 0
        && (digest != locked.digest()
            || position + 1 != locked.messages()
            || first != locked.first()
            || timestamp != locked.last())) {
      throw damaged(
          limit,
          "%d messages from %d to %d with digest %08x (says the lock)"
              .formatted(locked.messages(), locked.first(), locked.last(), locked.digest()),
          "%d from %d to %d with %08x".formatted(position + 1, first, timestamp, digest));
    }
  }

  private boolean torn(long offset, String expected) throws IOException {
    // Of an open bucket too: a bad page would hide messages from whoever has just taken a lease.
    if (readAgain()) {
      return nextFrame();
    }
    if (isClosed()) {
      throw damaged(offset, expected, "none");
    }
    nextFrame = limit;
    return false;
  }

  private boolean isClosed() {
    return standing != Standing.OPEN;
  }

  private DamagedException damaged(long offset, String expected, String actual) {
    return new DamagedException(path, offset, expected, actual);
  }

  String sortName() {
    return sortName;
  }

  @Override
  public Path path() {
    return path;
  }

  @Override
  public long offset() {
    return frame;
  }

  @Override
  byte[] bytes() {
    return window().bytes();
  }

  @Override
  LeaseTable table() {
    return leases;
  }

  /** Puts the current message into a segment, as one of the file {@link #tag}. */
  void feed(SegmentEncoder out, int set) throws IOException {
    out.message(tag, position, set, timestamp, bytes(), payload, length);
  }

  @Override
  public DataFileName file() {
    return name;
  }

  @Override
  public boolean settled() {
    return standing == Standing.SETTLED;
  }

  @Override
  public void close() throws IOException {
    window = null;
    files.ended(this);
    in.close();
  }
}
