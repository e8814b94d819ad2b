package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Walks the messages of one data file in order, checking every frame. It is its own current
 * message. Not thread-safe.
 *
 * <p>What is not whole is the torn end, or a hole if a whole batch stands behind it (rule C4). A
 * live read ends at either.
 */
@CheckReturnValue
public class DataFileCursor extends Cursor implements Closeable {
  /** Only one batch can be torn (rule A2): so far behind its beginning another one begins. */
  private static final long LONGEST_TORN = (long) Frame.HEAD + Frame.MAX_BODY + Frame.TRAILER;

  /**
   * Salvage looks no further for a batch: to read a hole of a terabyte is longer than one waits.
   */
  private static final long LONGEST_GAP = 1L << 28;

  /** What it does where the file is not whole. */
  public enum OnDamage {
    /** It ends. */
    END,
    /** It goes on at the next whole batch, as a closer does (rule C4). */
    GO_ON,
    /** The same, also without the header of the file, and behind any gap. */
    SALVAGE
  }

  /** Whatever its user counts it as. */
  int tag;

  private final Name path;
  private final DataFileName name;
  private final Bucket bucket;
  private final String sortName;
  private final OpenFiles.Opening uncached;
  private final FileHeader expected;
  private final OpenFiles files;
  private final long limit;
  private final OnDamage onDamage;
  private final @Nullable DataFileExtent known;
  private final FrameCodec codec;
  private final LeaseTable leases;
  private final List<Hole> holes = new ArrayList<>();
  private Stored in;

  /** Null before the start, and while it is forgotten. */
  private @Nullable Window window;

  private boolean started;
  private boolean closed;
  private boolean again;
  private boolean headless;
  private boolean hasOther;
  private @Nullable DamagedException wrong;
  private @Nullable DamagedException torn;

  /** Of the batch that the current message is in. */
  private long frame;

  private int digest;
  private long payloadAt;
  private long entry;
  private long entriesEnd;
  private long nextFrame;

  private long first;
  private long messages;
  private long validLength;

  private DataFileCursor(
      Name path,
      FileHeader expected,
      Stored in,
      OpenFiles.Opening uncached,
      long limit,
      OnDamage onDamage,
      @Nullable DataFileExtent known,
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
    this.limit = limit;
    this.onDamage = onDamage;
    this.known = known;
    this.codec = new FrameCodec(name);
    this.leases = leases;
  }

  /**
   * Over all that there is of a file that others may be appending to.
   *
   * @param uncached used once, before damage is believed (rule N5); the cursor closes both
   * @param size how much of it is read at most
   * @param files where it is noted what this holds
   */
  public DataFileCursor(
      Name path,
      FileHeader expected,
      Stored in,
      OpenFiles.Opening uncached,
      long size,
      OnDamage onDamage,
      LeaseTable leases,
      OpenFiles files) {
    this(path, expected, in, uncached, size, onDamage, null, leases, files);
  }

  /** Once more over what was found before; it must be the same. */
  public DataFileCursor(
      Name path,
      FileHeader expected,
      Stored in,
      OpenFiles.Opening uncached,
      DataFileExtent known,
      LeaseTable leases,
      OpenFiles files) {
    this(path, expected, in, uncached, known.validLength(), OnDamage.GO_ON, known, leases, files);
  }

  /**
   * When its first message is, where that was found before: so its turn may come before anything of
   * it is read. Empty if it has to be read to know, or has begun.
   */
  OptionalLong firstExpected() {
    return known != null && known.messages() > 0 && !started
        ? OptionalLong.of(known.first())
        : OptionalLong.empty();
  }

  private void start() throws IOException {
    started = true;
    if (hasHeader() || (limit > 0 && readAgain() && hasHeader())) {
      nextFrame = expected.length();
    } else if (onDamage == OnDamage.SALVAGE) {
      nextFrame = expected.length();
      headless = true;
    } else { // without a valid header its valid length is 0 (rule A4)
      torn = damaged(0, "the header of this file", hasOther ? "another's" : "none");
      nextFrame = limit;
    }
  }

  private Window window() {
    if (window == null) {
      window = new Window(in, limit, files.chunk());
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
      if (entry == entriesEnd && !nextFrame()) {
        return false;
      }
      ByteBuffer view = window().view();
      int at = window().at(entry);
      int word = view.getInt(at);
      int n = Frame.length(word);
      if (Frame.kind(word) == Frame.KIND_MESSAGE) {
        leaseSet = view.getInt(at + 4);
        timestamp = view.getLong(at + 8);
        payloadAt = entry + Frame.MESSAGE_OVERHEAD;
        payload = at + Frame.MESSAGE_OVERHEAD;
        length = n;
        position++;
        first = messages++ == 0 ? timestamp : first;
        entry = payloadAt + n;
        return true;
      }
      if (Frame.kind(word) == Frame.KIND_WITNESS) {
        byte[] signed = Arrays.copyOfRange(window().bytes(), at + 4, at + 4 + n);
        witness(entry, leases.addWitness(signed));
      } else {
        boolean unused = leases.addSet(numbers(view, at + 4, n));
      }
      entry += 4 + n;
    }
  }

  private static int[] numbers(ByteBuffer view, int at, int bytes) {
    var numbers = new int[bytes / 4];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = view.getInt(at + 4 * i);
    }
    return numbers;
  }

  /**
   * Told of every witness.
   *
   * @param fault why it permits nothing; empty if a key that applies signed it
   */
  protected void witness(long offset, String fault) {}

  private boolean nextFrame() throws IOException {
    if (nextFrame < limit) {
      // Of an open bucket too: a bad page would hide messages from whoever has just taken a lease.
      if (!headless && enter(nextFrame, false)
          || readAgain() && enter(nextFrame, false)
          || onDamage != OnDamage.END && isHole()) {
        return true;
      }
      torn = wrong; // none if it is a hole to the end
      nextFrame = limit;
    }
    if (known != null && !extent().equals(known.toValidLength())) {
      throw damaged(limit, "what was read of it before: " + known, "" + extent());
    }
    close(); // of many files it may be the first that ends
    return false;
  }

  /** Whether a whole batch stands behind what is not whole: goes on there. */
  private boolean isHole() throws IOException {
    long begins = nextFrame;
    long longest = onDamage == OnDamage.SALVAGE ? LONGEST_GAP : LONGEST_TORN;
    for (long at = headless ? begins : begins + 1; at < limit && at - begins <= longest; at++) {
      if (enter(at, true)) {
        headless = false;
        return true;
      }
    }
    if (limit - begins > longest) { // no single batch is that long
      holes.add(new Hole(name, begins, limit, Hole.UNKNOWN));
      wrong = null;
    }
    return false;
  }

  /**
   * Goes into the batch that begins at an offset, if there is one that is whole and valid.
   *
   * @param behind whether something is missing before it
   */
  private boolean enter(long offset, boolean behind) throws IOException {
    Window window = window();
    FrameHead h = head(window, offset);
    if (h == null
        || offset + h.frameLength() > limit
        || !window.load(offset, (int) h.frameLength())) {
      return behind ? false : fails(offset, "a whole batch", "none");
    }
    long trailerAt = offset + h.frameLength() - Frame.TRAILER;
    Trailer t = codec.trailer(window.view(), window.at(trailerAt), trailerAt);
    int computed = codec.digest(h, window.view(), window.at(offset));
    if (!behind && h.digestBefore() != digest) {
      return fails(offset, "a batch that follows digest " + hex(digest), hex(h.digestBefore()));
    }
    if (t == null || t.frameOffset() != offset) {
      return fails(offset, "the trailer of the batch", "none");
    }
    if (t.digest() != computed) {
      return fails(offset, "digest " + hex(t.digest()), hex(computed));
    }
    long before = t.messages() - h.messages();
    long missing = before - (position + 1);
    if (missing < 0 || missing > 0 && !behind) {
      return fails(offset, position + 1 + " messages before the batch", "" + before);
    }
    if (!areValid(offset + Frame.HEAD, trailerAt, h.messages(), t.last(), behind)) {
      return false;
    }
    if (behind) {
      if (offset > nextFrame) {
        holes.add(new Hole(name, nextFrame, offset, missing));
      }
      leases.gap();
      position += missing;
    }
    digest = computed;
    wrong = null;
    frame = offset;
    entry = offset + Frame.HEAD;
    entriesEnd = trailerAt;
    nextFrame = trailerAt + Frame.TRAILER;
    validLength = nextFrame;
    files.holds(this, window.bytes().length);
    leases.beginBatch();
    return true;
  }

  /** Whether the entries of a batch, whose bytes are as they were written, mean anything. */
  private boolean areValid(long begin, long end, int count, long last, boolean behind) {
    Window window = Objects.requireNonNull(this.window);
    ByteBuffer view = window.view();
    int witnesses = leases.isWhole() && !behind ? leases.witnesses() : Integer.MIN_VALUE;
    int sets = 0;
    int left = count;
    long time = Math.max(timestamp, bucket.start());
    for (long at = begin; at < end; ) {
      int i = window.at(at);
      int word = end - at < 4 ? 0 : view.getInt(i);
      int n = Frame.length(word);
      int kind = Frame.kind(word);
      int overhead = kind == Frame.KIND_MESSAGE ? Frame.MESSAGE_OVERHEAD : 4;
      if (end - at < (long) overhead + n) {
        return fails(at, "an entry within the body", "one of " + n + " bytes");
      }
      if (kind == Frame.KIND_MESSAGE) {
        int set = view.getInt(i + 4);
        long t = view.getLong(i + 8);
        if (set < 0 || set > sets) {
          return fails(at, "a lease set that stands before", "number " + set);
        }
        if (t < time || t >= bucket.end()) {
          return fails(at, "a timestamp from " + time + " on in the bucket", "" + t);
        }
        time = t;
        left--;
      } else if (kind == Frame.KIND_WITNESS) {
        witnesses++;
      } else if (kind == Frame.KIND_LEASE_SET && (n & 3) == 0) {
        for (int number : numbers(view, i + 4, n)) {
          if (number < 1 || witnesses >= 0 && number > witnesses) {
            return fails(at, "witnesses that stand before", "number " + number);
          }
        }
        sets++;
      } else {
        return fails(at, "an entry of a known kind", "kind " + kind);
      }
      at += overhead + n;
    }
    return left == 0 && time == last
        || fails(begin, count + " messages up to " + last, count - left + " up to " + time);
  }

  /** Notes why a file ends; what is looked for behind its end has no say. */
  private boolean fails(long offset, String expected, String actual) {
    if (wrong == null) {
      wrong = damaged(offset, expected, actual);
    }
    return false;
  }

  /** What it went on behind so far. */
  public List<Hole> holes() {
    return holes;
  }

  /** Where the last whole batch ends that was found, or the header. */
  public long wholeTo() {
    return Math.max(validLength, expected.length());
  }

  /** How much there is of the file; asked at its end. */
  public DataFileExtent extent() {
    return new DataFileExtent(name, validLength, messages, first, holes);
  }

  /** Why the file ends before its last byte; null if it does not. */
  public @Nullable DamagedException torn() {
    return torn;
  }

  /**
   * Whether the header that is not there was there once, so that committed messages may be lost.
   * What did not arrive of a write, whose pieces may arrive in any order, are zeros or the end of
   * the file. So a byte that is neither right nor zero was changed; and zeros were, where a second
   * batch was begun, and so the header forced.
   *
   * @param in the file, past the cache (rule N5)
   */
  public boolean isDestroyed(Stored in) throws IOException {
    byte[] right = expected.encode().array();
    var all = new Window(in, limit);
    if (!all.load(0, right.length)) {
      return false;
    }
    byte[] there = Arrays.copyOf(all.bytes(), right.length);
    if (FileHeader.decode(ByteBuffer.wrap(there).order(ByteOrder.LITTLE_ENDIAN)).isPresent()) {
      return false; // whole, and this file's or put here from elsewhere
    }
    for (int i = 0; i < right.length; i++) {
      if (there[i] != right[i] && there[i] != 0) {
        return true;
      }
    }
    FrameHead first = head(all, expected.length());
    return first != null && head(all, expected.length() + first.frameLength()) != null;
  }

  private @Nullable FrameHead head(Window in, long offset) throws IOException {
    return in.load(offset, Frame.HEAD) ? codec.head(in.view(), in.at(offset), offset) : null;
  }

  /**
   * When the last message of a file is, as its end says.
   *
   * @return empty if it does not end with a whole batch
   */
  static OptionalLong last(DataFileName name, Stored in) throws IOException {
    long at = in.size() - Frame.TRAILER;
    ByteBuffer end = ByteBuffer.allocate(Frame.TRAILER).order(ByteOrder.LITTLE_ENDIAN);
    Trailer trailer =
        at > 0 && in.read(end, at) == Frame.TRAILER
            ? new FrameCodec(name).trailer(end.flip(), 0, at)
            : null;
    return trailer == null ? OptionalLong.empty() : OptionalLong.of(trailer.last());
  }

  private static String hex(int digest) {
    return "%08x".formatted(digest);
  }

  private DamagedException damaged(long offset, String expected, String actual) {
    return new DamagedException(path, offset, expected, actual);
  }

  String sortName() {
    return sortName;
  }

  @Override
  public Name path() {
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

  /** Puts the current message into a settled file, as one of the file {@link #tag}. */
  void feed(SegmentEncoder out, int set) throws IOException {
    out.message(tag, position, set, timestamp, bytes(), payload, length);
  }

  @Override
  public DataFileName file() {
    return name;
  }

  /** Never: what is settled is read from settled files. */
  @Override
  public boolean settled() {
    return false;
  }

  @Override
  public void close() throws IOException {
    window = null;
    files.ended(this);
    if (!closed) {
      closed = true;
      in.close();
    }
  }
}
