package dev.cinch.bag.salvage;

import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.read.OpenFiles;
import dev.cinch.bag.salvage.KnownChain.Fate;
import dev.cinch.bag.salvage.SalvageSink.Kind;
import dev.cinch.bag.salvage.Salvaged.State;
import dev.cinch.bag.salvage.SegmentSalvager.Found;
import dev.cinch.bag.storage.InWords;
import dev.cinch.bag.storage.Stored;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Salvages one bucket after the other: from its data files, and from what segments keep of it,
 * whichever is whole. Not thread-safe.
 */
final class BucketSalvager {
  private static final int SMALLEST_HEADER = 88;

  private final StoreFs fs;
  private final Fresh fresh;
  private final LogLayout log;
  private final KnownChain chain;
  private final SegmentSalvager segments;
  private final SalvageSink sink;

  /** Before it a bucket that no segment has does not exist. */
  private final long retiredTo;

  private long messages;

  /** What says which files a bucket has, and how long they are. */
  private record Evidence(TreeMap<String, LockedFile> files, boolean proven) {}

  BucketSalvager(
      StoreFs fs, LogLayout log, KnownChain chain, SegmentSalvager segments, SalvageSink sink) {
    this.fs = fs;
    this.log = log;
    this.fresh = new Fresh(fs);
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
  void salvage(long start, @Nullable Path directory) throws IOException {
    Found kept = segments.byBucket().get(start);
    var sources = new ArrayList<Source>();
    try {
      if (kept != null && !kept.doubted()) {
        sources.add(segments.messages(kept));
      }
      if (directory != null) {
        addFiles(start, directory, kept, sources);
      } else if (kept == null) {
        Instant at = Instant.ofEpochSecond(0, start);
        sink.left(
            Kind.DAMAGE, log.buckets(), 0, 0, "a record lists the bucket " + at + "; it is gone");
      }
      if (kept != null && kept.doubted()) { // of what both have, the files' counts
        sources.add(segments.messages(kept));
      }
      merge(sources);
    } finally {
      for (Source s : sources) {
        s.close();
      }
    }
  }

  private void addFiles(long start, Path directory, @Nullable Found kept, List<Source> sources)
      throws IOException {
    Fate fate = chain.fate(start);
    boolean retired = fate == Fate.UNKNOWN && start < retiredTo;
    if ((fate == Fate.ABSENT || retired) && kept == null) {
      sink.left(Kind.VOID, directory, 0, 0, "a bucket made too late: it does not exist");
      return;
    }
    Evidence evidence = kept == null || kept.doubted() ? locked(start, directory, fate) : null;
    if (kept != null && evidence == null) {
      evidence = kept(kept.bucket(), directory);
    }
    var names = new java.util.TreeSet<String>();
    try {
      for (String name : fs.list(directory)) {
        if (DataFileName.parse(name).isPresent()) {
          names.add(name);
        }
      }
    } catch (IOException e) {
      sink.left(Kind.DAMAGE, directory, 0, 0, "can't be listed: " + InWords.reason(e));
    }
    if (evidence != null) {
      names.addAll(evidence.files().keySet());
    }
    var files = new OpenFiles(names.size());
    for (String name : names) {
      addFile(start, directory.resolve(name), name, evidence, fate, kept != null, sources, files);
    }
  }

  /** What a segment says, with the copies of a lock that says the same of a file. */
  private Evidence kept(SegmentBucket bucket, Path directory) {
    Map<String, LockedFile> locked = copies(bucket.start(), directory);
    var files = new TreeMap<String, LockedFile>();
    for (SegmentBucket.DataFile f : bucket.files()) {
      LockedFile same = locked.get(f.name().toString());
      byte[] copy =
          same == null || same.validLength() != f.validLength() ? new byte[0] : same.copy();
      files.put(
          f.name().toString(),
          new LockedFile(f.name(), f.validLength(), f.messages(), 0, 0, 0, copy));
    }
    return new Evidence(files, true);
  }

  /**
   * The files of a lock that nothing depends on but what they may lack at their end (rule C3): no
   * loss if it was retired or can't be read.
   */
  private Map<String, LockedFile> copies(long start, Path directory) {
    var files = new HashMap<String, LockedFile>();
    try {
      BucketLock lock = lock(LogLayout.lock(directory)).lock();
      if (lock.bucket().start() == start) {
        lock.files().forEach(f -> files.put(f.name().toString(), f));
      }
    } catch (IOException e) {
      return Map.of();
    }
    return files;
  }

  private record Lock(BucketLock lock, String digest) {}

  private Lock lock(Path path) throws IOException {
    return fresh.decode(
        path,
        BucketLock.MAX_BYTES,
        bytes -> new Lock(BucketLock.decode(bytes, path, this::part), Envelope.sha256(bytes)));
  }

  private List<LockedFile> part(BucketLock.Part part, Path path) throws IOException {
    return fresh.decode(
        path, BucketLock.MAX_BYTES, bytes -> BucketLock.decodePart(bytes, path, part));
  }

  /** What the lock says; null if there is none to go by. */
  private @Nullable Evidence locked(long start, Path directory, Fate fate) throws IOException {
    Path path = LogLayout.lock(directory);
    try {
      Lock read = lock(path);
      BucketLock lock = read.lock();
      if (lock.bucket().start() != start) {
        sink.left(Kind.DAMAGE, path, 0, 0, "the lock of another bucket");
        return null;
      }
      Optional<String> digest = chain.lockDigest(start);
      if (digest.isPresent() && !digest.get().equals(read.digest())) {
        sink.left(Kind.DAMAGE, path, 0, 0, "not the lock that the record names");
        return null;
      }
      var files = new TreeMap<String, LockedFile>();
      lock.files().forEach(f -> files.put(f.name().toString(), f));
      return new Evidence(files, fate == Fate.LISTED);
    } catch (NoSuchFileException e) {
      if (fate == Fate.LISTED) {
        sink.left(Kind.DAMAGE, path, 0, 0, "no lock, and a record lists the bucket");
      }
      return null;
    } catch (DamagedException e) {
      sink.left(Kind.DAMAGE, path, e.offset(), 0, "expected " + e.expected());
      return null;
    } catch (IOException e) {
      sink.left(Kind.DAMAGE, path, 0, 0, "can't be read: " + InWords.reason(e));
      return null;
    }
  }

  private void addFile(
      long start,
      Path path,
      String text,
      @Nullable Evidence evidence,
      Fate fate,
      boolean kept,
      List<Source> sources,
      OpenFiles files)
      throws IOException {
    DataFileName name = DataFileName.parse(text).orElseThrow();
    Stored in = open(path, kept, files);
    long size = in.size();
    long limit = size;
    byte[] copy = new byte[0];
    State state = State.UNPROVEN;
    if (evidence != null) {
      LockedFile f = evidence.files().get(text);
      if (f == null) {
        sink.left(Kind.VOID, path, 0, size, "a file made too late: it does not exist");
        in.close();
        return;
      }
      limit = f.validLength();
      copy = f.copy();
      state = evidence.proven() ? State.SETTLED : fate == Fate.OPEN ? State.UNSETTLED : state;
      if (size > limit) {
        sink.left(Kind.VOID, path, limit, size - limit, "past the valid length");
      }
    } else if (fate == Fate.OPEN) {
      state = State.UNSETTLED;
    }
    long first = afterHeader(start, path, name, in, limit, copy, evidence != null);
    if (first < 0) {
      in.close();
      return;
    }
    boolean closed = evidence != null;
    OpenFiles.Opening uncached =
        in == PatchyFile.NONE
            ? () -> in
            : () -> PatchyFile.of(files.file(() -> fs.readUncached(path), null));
    sources.add(
        new FrameSalvager(
            path, name, in, uncached, files.chunk(), first, limit, copy, closed, state, sink));
  }

  private Stored open(Path path, boolean kept, OpenFiles files) throws IOException {
    try {
      return PatchyFile.of(files.file(() -> fresh.read(path), fresh.read(path)));
    } catch (NoSuchFileException e) {
      if (!kept) { // else it was retired: the segment has it
        sink.left(Kind.DAMAGE, path, 0, 0, "no file, and the lock lists it");
      }
    } catch (IOException e) {
      sink.left(Kind.DAMAGE, path, 0, 0, "can't be read: " + InWords.reason(e));
    }
    return PatchyFile.NONE;
  }

  /** Where the first batch begins; below 0 if the file is another's. */
  private long afterHeader(
      long start, Path path, DataFileName name, Stored in, long limit, byte[] copy, boolean closed)
      throws IOException {
    var shape = new FileHeader(ANY, ANY, new Bucket(0, 1), name);
    if (limit == 0 || in == PatchyFile.NONE || copy.length == limit) {
      return shape.length();
    }
    ByteBuffer bytes = ByteBuffer.allocate(FileHeader.MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    try {
      int unused = in.read(bytes, 0);
    } catch (IOException e) {
      sink.left(Kind.DAMAGE, path, 0, shape.length(), "can't be read: " + InWords.reason(e));
      return shape.length();
    }
    Optional<FileHeader> header = FileHeader.decode(bytes.flip());
    if (header.isEmpty()) {
      boolean torn = !closed && limit < SMALLEST_HEADER;
      sink.left(
          torn ? Kind.VOID : Kind.DAMAGE, path, 0, shape.length(), "no valid header of the file");
      return shape.length(); // its batches are checksummed for themselves
    }
    boolean here = header.get().name().equals(name) && header.get().bucket().start() == start;
    if (!here) {
      sink.left(Kind.DAMAGE, path, 0, limit, "a file of another place: " + header.get());
      return -1;
    }
    return shape.length();
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
