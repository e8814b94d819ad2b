package dev.cinch.bag.audit;

import dev.cinch.bag.audit.KnownChain.Fate;
import dev.cinch.bag.audit.SalvageSink.Kind;
import dev.cinch.bag.audit.Salvaged.State;
import dev.cinch.bag.audit.SegmentSalvager.Found;
import dev.cinch.bag.file.DataFileCursor;
import dev.cinch.bag.file.DataFileCursor.OnDamage;
import dev.cinch.bag.file.LeaseTable;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Salvages one bucket after the other: from its lock, from its data files where that is not whole,
 * and from what segments keep of it. Not thread-safe.
 */
final class BucketSalvager {
  private static final int SMALLEST_HEADER = 88;

  private final Storage storage;
  private final LogLayout log;
  private final KnownChain chain;
  private final SegmentSalvager segments;
  private final SalvageSink sink;

  /** Before it a bucket that no segment has does not exist. */
  private final long retiredTo;

  private long messages;

  BucketSalvager(
      Storage storage,
      LogLayout log,
      KnownChain chain,
      SegmentSalvager segments,
      SalvageSink sink) {
    this.storage = storage;
    this.log = log;
    this.chain = chain;
    this.segments = segments;
    this.sink = sink;
    this.retiredTo =
        chain
            .checkpoint()
            .filter(c -> segments.hasAllBehind(c, chain.floor()))
            .map(Checkpoint::to)
            .orElse(Long.MIN_VALUE);
  }

  /** Messages so far. */
  long messages() {
    return messages;
  }

  /**
   * @param directory of the bucket; null if there is none, and a segment or a record has the bucket
   */
  void salvage(long start, @Nullable Name directory) throws IOException {
    Found kept = segments.byBucket().get(start);
    var sources = new ArrayList<Source>();
    try {
      if (kept != null && !kept.doubted()) {
        sources.add(segments.messages(kept, State.SETTLED));
      }
      if (directory != null) {
        addBucket(start, directory, kept, sources);
      } else if (kept == null) {
        Instant at = Instant.ofEpochSecond(0, start);
        sink.left(
            Kind.DAMAGE, log.buckets(), 0, 0, "a record lists the bucket " + at + "; it is gone");
      }
      if (kept != null && kept.doubted()) { // of what both have, the files' counts
        sources.add(segments.messages(kept, State.SETTLED));
      }
      merge(sources);
    } finally {
      for (Source s : sources) {
        s.close();
      }
    }
  }

  private void addBucket(long start, Name directory, @Nullable Found kept, List<Source> sources)
      throws IOException {
    Fate fate = chain.fate(start);
    boolean retired = fate == Fate.UNKNOWN && start < retiredTo;
    if ((fate == Fate.ABSENT || retired) && kept == null) {
      sink.left(Kind.VOID, directory, 0, 0, "a bucket made too late: it does not exist");
      return;
    }
    List<String> names = names(directory);
    var lock = new SegmentSalvager(storage, sink);
    Name path = LogLayout.lock(directory);
    Found locked = null;
    if (LogLayout.hasLock(names)) {
      lock.scan(0, path, chain.lockDigest(start));
      locked = lock.byBucket().get(start);
      if (locked == null) {
        sink.left(Kind.DAMAGE, path, 0, 0, "no whole lock of this bucket");
      } else {
        boolean proven = fate == Fate.LISTED && lock.isWhole();
        sources.add(lock.messages(locked, proven ? State.SETTLED : unproven(fate)));
        if (lock.isWhole()) {
          return; // what data files have beside it does not exist (rule C2)
        }
      }
    } else if (fate == Fate.LISTED && kept == null) {
      sink.left(Kind.DAMAGE, path, 0, 0, "no lock, and a record lists the bucket");
    }
    SegmentBucket known = locked != null ? locked.bucket() : kept != null ? kept.bucket() : null;
    List<String> files = names.stream().filter(n -> DataFileName.parse(n).isPresent()).toList();
    var open = new OpenFiles(files.size());
    for (String name : files) {
      addFile(start, directory.resolve(name), name, known, fate, sources, open);
    }
  }

  private static State unproven(Fate fate) {
    return fate == Fate.OPEN ? State.UNSETTLED : State.UNPROVEN;
  }

  private List<String> names(Name directory) throws IOException {
    try {
      return storage.list(directory, Freshness.CACHED).stream().sorted().toList();
    } catch (IOException e) {
      sink.left(Kind.DAMAGE, directory, 0, 0, "can't be listed: " + InWords.reason(e));
      return List.of();
    }
  }

  /**
   * @param known what a damaged lock, or a segment, says of the bucket; null if nothing does
   */
  private void addFile(
      long start,
      Name path,
      String text,
      @Nullable SegmentBucket known,
      Fate fate,
      List<Source> sources,
      OpenFiles files)
      throws IOException {
    DataFileName name = DataFileName.parse(text).orElseThrow();
    Stored in;
    try {
      in =
          PatchyFile.of(
              files.file(
                  () -> storage.open(path, Freshness.CACHED),
                  storage.open(path, Freshness.CACHED)));
    } catch (IOException e) {
      sink.left(Kind.DAMAGE, path, 0, 0, "can't be read: " + InWords.reason(e));
      return;
    }
    long size = in.size();
    long limit = size;
    if (known != null) {
      Optional<SegmentBucket.DataFile> f = known.file(name);
      limit = Math.min(size, f.map(SegmentBucket.DataFile::validLength).orElse(0L));
      if (size > limit) {
        String why = f.isEmpty() ? "a file made too late: it does not exist" : "past its end";
        sink.left(Kind.VOID, path, limit, size - limit, why);
      }
    }
    FileHeader header = header(start, path, name, in, limit, known != null);
    if (header == null || limit == 0) {
      in.close();
      return;
    }
    OpenFiles.Opening uncached = () -> PatchyFile.of(files.file(() -> past(path), null));
    var cursor =
        new DataFileCursor(
            path, header, in, uncached, limit, OnDamage.SALVAGE, LeaseTable.unread(), files);
    sources.add(new DataFile(cursor, limit, known != null, unproven(fate)));
  }

  private Stored past(Name path) throws IOException {
    try {
      return storage.open(path, Freshness.CERTAIN);
    } catch (IOException e) {
      return storage.open(path, Freshness.CACHED); // then what there is must do
    }
  }

  /** What the file begins with, or should; null if the file is another's, which was told. */
  private @Nullable FileHeader header(
      long start, Name path, DataFileName name, Stored in, long limit, boolean closed)
      throws IOException {
    var any = new FileHeader(ANY, ANY, new Bucket(0, Long.MAX_VALUE), name);
    if (limit == 0) {
      return any;
    }
    ByteBuffer bytes = ByteBuffer.allocate(FileHeader.MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    int unused = in.read(bytes, 0);
    Optional<FileHeader> header = FileHeader.decode(bytes.flip());
    if (header.isEmpty()) {
      boolean torn = !closed && limit < SMALLEST_HEADER;
      sink.left(
          torn ? Kind.VOID : Kind.DAMAGE, path, 0, any.length(), "no valid header of the file");
      return any; // its batches are checksummed for themselves
    }
    if (!header.get().name().equals(name) || header.get().bucket().start() != start) {
      sink.left(Kind.DAMAGE, path, 0, limit, "a file of another place: " + header.get());
      return null;
    }
    return header.get();
  }

  /** What is whole of a data file, by the rules of its closer (rules A4, C4). */
  private final class DataFile implements Source {
    private final DataFileCursor in;
    private final long limit;
    private final boolean closed;
    private final State state;
    private int told;
    private @Nullable Salvaged current;

    /**
     * @param closed whether a lock says how long it is; else its end may be torn
     */
    DataFile(DataFileCursor in, long limit, boolean closed, State state) {
      this.in = in;
      this.limit = limit;
      this.closed = closed;
      this.state = state;
    }

    @Override
    public @Nullable Salvaged next() throws IOException {
      current = null;
      boolean more = false;
      try {
        more = in.next();
      } catch (IOException e) { // it was there when it was read first: the disk goes on decaying
        left(Kind.DAMAGE, in.wholeTo(), limit, "can't be read: " + InWords.reason(e));
      }
      for (; told < in.holes().size(); told++) {
        Hole hole = in.holes().get(told);
        left(Kind.DAMAGE, hole.from(), hole.to(), "no whole batch");
      }
      if (more) {
        current =
            new Salvaged(in.timestamp(), in.file().toString(), in.position(), in.payload(), state);
      } else if (in.torn() != null) {
        Kind kind = closed ? Kind.DAMAGE : Kind.VOID;
        left(kind, in.wholeTo(), limit, closed ? "no whole batch" : "a torn tail");
      }
      return current;
    }

    private void left(Kind kind, long from, long to, String why) throws IOException {
      sink.left(kind, in.path(), from, Math.max(0, to - from), why);
    }

    @Override
    public @Nullable Salvaged current() {
      return current;
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }

  private static final Id ANY = new Id(0, 0);

  /** All sources in the order of the log, a message that two of them have once: the first one's. */
  private void merge(List<Source> sources) throws IOException {
    var queue =
        new PriorityQueue<Source>(
            Comparator.comparing(BucketSalvager::head, Salvaged::compareTo)
                .thenComparingInt(sources::indexOf));
    for (Source s : sources) {
      if (s.next() != null) {
        queue.add(s);
      }
    }
    Salvaged before = null;
    for (Source s = queue.poll(); s != null; s = queue.poll()) {
      Salvaged m = head(s);
      if (before == null || before.compareTo(m) != 0) {
        sink.message(m);
        messages++;
      }
      before = m;
      if (s.next() != null) {
        queue.add(s);
      }
    }
  }

  private static Salvaged head(Source s) {
    Salvaged m = s.current();
    if (m == null) {
      throw new IllegalStateException("a source without a message");
    }
    return m;
  }
}
