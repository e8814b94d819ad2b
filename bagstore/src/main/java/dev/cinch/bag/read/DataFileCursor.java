package dev.cinch.bag.read;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.storage.Stored;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Walks the messages of one data file in order, checking every frame. It is its own current
 * message. Not thread-safe.
 *
 * <p>In a closed bucket whatever is wrong before the valid length is damage; in an open one the
 * first frame that is not whole is the end. Whoever looks for all damage goes on behind it with
 * {@link #skip}.
 */
public class DataFileCursor extends Cursor implements Closeable {
  /** Whatever its user counts it as. */
  int tag;

  private final Path path;
  private final DataFileName name;
  private final Bucket bucket;
  private final String sortName;
  private final OpenFiles.Opening uncached;
  private final LockedFile locked;
  private final FileHeader expected;
  private final OpenFiles files;
  private Stored in;

  /** Null before the start, and while it is forgotten. */
  private @Nullable Window window;

  private boolean started;
  private boolean hasOther;
  private boolean again;
  private final long limit;
  private final Standing standing;
  private final FrameCodec codec;
  private final LeaseTable leases;

  private long frame;

  /** Of the frame, as far as it is whole. */
  private @Nullable FrameHead head;

  private @Nullable Trailer trailer;
  private @Nullable DamagedException torn;
  private int digest;
  private long first;
  private int left;
  private long payloadAt;
  private long entry;
  private long entriesEnd;
  private long nextFrame;

  /**
   * @param uncached used once, before damage is believed (rule N5); the cursor closes both
   * @param locked what the lock says of it; of a file in an open bucket only how long it is counts
   * @param standing what is said of its messages
   * @param files where it is noted what this holds
   */
  public DataFileCursor(
      Path path,
      FileHeader expected,
      Stored in,
      OpenFiles.Opening uncached,
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
    } else {
      var none = damaged(0, "the header of this file", hasOther ? "another's" : "none");
      if (isClosed() && limit > 0) {
        throw none;
      }
      torn = none;
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
    FrameHead h = codec.head(w.view(), at, frame);
    return h != null && h.frameLength() == length && codec.digest(h, w.view(), at) == digest;
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
    Optional<FileHeader> header = FileHeader.decode(bytes);
    hasOther = header.isPresent();
    return header.filter(expected::equals).isPresent();
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
  public boolean next() throws IOException {
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
        byte[] signed = Arrays.copyOfRange(window.bytes(), at + 4, at + 4 + n);
        witness(entry, leases.addWitness(signed));
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

  /**
   * Told of every witness.
   *
   * @param fault why it permits nothing; empty if a key that applies signed it
   */
  protected void witness(long offset, String fault) {}

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
    head = null;
    trailer = null;
    if (nextFrame >= limit) {
      checkEnd();
      close(); // of many files it may be the first that ends
      return false;
    }
    frame = nextFrame;
    Window window = window();
    FrameHead h = null;
    if (window.load(frame, Frame.HEAD)) {
      h = codec.head(window.view(), window.at(frame), frame);
    }
    if (h == null
        || frame + h.frameLength() > limit
        || !window.load(frame, (int) h.frameLength())) {
      return torn(frame, "a whole batch", "none");
    }
    long end = frame + h.frameLength();
    long trailerOffset = end - Frame.TRAILER;
    Trailer t = codec.trailer(window.view(), window.at(trailerOffset), trailerOffset);
    int computed = codec.digest(h, window.view(), window.at(frame));
    head = h;
    trailer = t;
    if (h.digestBefore() != digest) {
      return torn(frame, "a batch that follows digest " + hex(digest), hex(h.digestBefore()));
    }
    if (t == null || t.frameOffset() != frame) {
      return torn(frame, "the trailer of the batch", "none");
    }
    if (t.digest() != computed) {
      return torn(frame, "digest " + hex(t.digest()), hex(computed));
    }
    digest = computed;
    left = h.messages();
    entry = frame + Frame.HEAD;
    entriesEnd = trailerOffset;
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

  private boolean torn(long offset, String expected, String actual) throws IOException {
    // Of an open bucket too: a bad page would hide messages from whoever has just taken a lease.
    if (readAgain()) {
      return nextFrame();
    }
    if (isClosed()) {
      throw damaged(offset, expected, actual);
    }
    torn = damaged(offset, expected, actual);
    head = null;
    nextFrame = limit;
    return false;
  }

  /**
   * After damage goes on behind that batch, and takes from its trailer what can't be counted.
   *
   * @return false if nothing leads on
   */
  public boolean skip() {
    FrameHead h = head;
    if (nextFrame == 0) { // no header
      digest = FileHeader.digest(expected.encode());
      nextFrame = expected.length();
      return true;
    }
    if (h == null) {
      return false;
    }
    Trailer t = trailer;
    digest = t != null ? t.digest() : codec.digest(h, window().view(), window().at(frame));
    position = t != null ? t.messages() - 1 : position + h.messages();
    first = t != null ? t.first() : first;
    timestamp = t != null ? t.last() : timestamp;
    nextFrame = frame + h.frameLength();
    entry = entriesEnd;
    left = 0;
    return true;
  }

  /** Of the batch that the current message is in; null before the first. */
  public @Nullable Trailer trailer() {
    return trailer;
  }

  /** Timestamp of the first message of the file so far. */
  public long first() {
    return first;
  }

  /** Why a file of an open bucket ended before its last byte; null if it did not. */
  public @Nullable DamagedException torn() {
    return torn;
  }

  private static String hex(int digest) {
    return "%08x".formatted(digest);
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
