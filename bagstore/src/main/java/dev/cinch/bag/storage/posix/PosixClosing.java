package dev.cinch.bag.storage.posix;

import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Names;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.storage.DataFileEnd;
import dev.cinch.bag.storage.ForeignEntryException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Closes a directory. Its temporary file, which becomes the lock, is made before the listing, and
 * so takes the listing past every cache (rule N2). Not thread-safe.
 */
final class PosixClosing implements Closing {
  private final PosixLog log;
  private final Bucket bucket;
  private final BucketProtection protection;
  private final StoreFs fs;
  private final Fresh fresh;
  private final Path directory;
  private final Path temporary;
  private final StoreFile out;
  private final Set<String> published = new HashSet<>();
  private List<String> names = List.of();

  /** Whether the temporary file is gone. */
  private boolean finished;

  private PosixClosing(
      PosixLog log, Bucket bucket, BucketProtection protection, Path directory, Path temporary)
      throws IOException {
    this.log = log;
    this.bucket = bucket;
    this.protection = protection;
    this.fs = log.store().fs();
    this.fresh = log.store().fresh();
    this.directory = directory;
    this.temporary = temporary;
    this.out = fs.create(temporary, log.store().fileMode());
  }

  static PosixClosing begin(PosixLog log, Bucket bucket, BucketProtection protection)
      throws IOException {
    Path directory = log.layout().bucket(bucket);
    setPrelock(log, directory); // step 1
    Path temporary = log.store().fresh().temporary(directory);
    return new PosixClosing(log, bucket, protection, directory, temporary); // step 2
  }

  /** All closers write the same byte at the same place. */
  private static void setPrelock(PosixLog log, Path directory) throws IOException {
    try (StoreFile out = openOrCreate(log, LogLayout.prelock(directory))) {
      out.write(ByteBuffer.wrap(new byte[] {'x'}));
      out.force();
    }
    log.store().fs().forceDirectory(directory);
  }

  private static StoreFile openOrCreate(PosixLog log, Path file) throws IOException {
    try {
      return log.store().fs().create(file, log.store().fileMode());
    } catch (FileAlreadyExistsException e) {
      return log.store().fs().overwrite(file);
    }
  }

  @Override
  public List<LockedFile> measure(
      Function<DataFileName, FileHeader> header,
      long maxCopies,
      Consumer<ForeignEntryException> leftOut)
      throws IOException {
    names = fs.list(directory);
    var files = new ArrayList<LockedFile>();
    var end = new DataFileEnd();
    long copies = 0;
    for (String name : names) {
      Optional<DataFileName> parsed = DataFileName.parse(name);
      if (parsed.isPresent()) {
        Path path = directory.resolve(name);
        protection.file(path);
        Optional<LockedFile> measured = // step 3
            measureFile(end, path, header.apply(parsed.get()), maxCopies - copies, leftOut);
        copies += measured.map(f -> f.copy().length).orElse(0);
        measured.ifPresent(files::add);
      }
    }
    return files;
  }

  /** Empty for what is no file, so that no writer can have made it (rule N7). */
  private Optional<LockedFile> measureFile(
      DataFileEnd end,
      Path path,
      FileHeader header,
      long copies,
      Consumer<ForeignEntryException> leftOut)
      throws IOException {
    try {
      return Optional.of(measure(end, path, header, copies));
    } catch (ForeignEntryException e) {
      if (!path.equals(e.path())) {
        throw e; // the bucket itself
      }
      leftOut.accept(e);
      return Optional.empty();
    }
  }

  private LockedFile measure(DataFileEnd end, Path path, FileHeader header, long copies)
      throws IOException {
    LockedFile cached;
    try (StoreFile in = fresh.readGrowing(path)) {
      long size = in.size();
      cached = durable(end.measure(in, size, header), in, path, copies);
      if (cached.validLength() == size) {
        if (size > 0 || fs.readsReachServer(path)) {
          return cached;
        }
        log.store()
            .awaitCaches(bucket); // it may only look empty, until its attributes expire (rule N6)
      }
    }
    try (StoreFile in = fs.readUncached(path)) { // before anyone is told that bytes are not valid
      LockedFile stored = durable(end.measure(in, in.size(), header), in, path, copies);
      return stored.validLength() > cached.validLength() ? stored : cached;
    }
  }

  /**
   * Forces what was measured, unless the lock's copy has all of it: on a filesystem of one kernel
   * its writer may not have (durability {@code close}), and a power cut would make the bucket
   * unreadable, with what others wrote. What was forced needs no copy where there are many.
   *
   * @param copies bytes that are left for copies
   */
  private LockedFile durable(LockedFile measured, StoreFile in, Path path, long copies)
      throws IOException {
    int copy = measured.copy().length;
    if (copy < measured.validLength() || copy > copies) {
      if (fs.isLocal(path)) {
        in.force();
        return copy > copies ? measured.withoutCopy() : measured;
      }
    }
    return measured;
  }

  @Override
  public void publishPart(String sha256, byte[] part) throws IOException {
    Path path = LogLayout.lockPart(LogLayout.lock(directory), sha256);
    fresh.publish(path, part, log.store().fileMode());
    boolean unused = published.add(LogLayout.lockPartName(sha256));
  }

  @Override
  public byte[] publish(byte[] lock) throws IOException {
    out.write(ByteBuffer.wrap(lock));
    out.force();
    log.requireSame();
    out.close();
    Path path = LogLayout.lock(directory);
    try {
      fs.link(temporary, path);
    } catch (FileAlreadyExistsException e) {
      // Lost, or a retransmitted LINK of our own: the truth is what the name holds.
    }
    fs.forceDirectory(directory);
    return fresh.readAll(path, BucketLock.MAX_BYTES);
  }

  @Override
  public void finish(Collection<String> parts) {
    for (String name : names) {
      if (Names.isTemporary(name)) {
        fresh.removeQuietly(directory.resolve(name));
      }
    }
    finished = true; // it was listed
    sweepParts(parts);
    protection.closed(directory);
  }

  /**
   * Removes parts that the lock does not name: of closers that were slower, or were killed. Once
   * there is a lock none of them will ever count.
   */
  private void sweepParts(Collection<String> kept) {
    Set<String> others = new HashSet<>(published);
    names.stream().filter(LogLayout::isLockPart).forEach(others::add);
    others.removeAll(kept.stream().map(LogLayout::lockPartName).collect(Collectors.toSet()));
    others.forEach(name -> fresh.removeQuietly(directory.resolve(name)));
  }

  @Override
  public void close() throws IOException {
    if (!finished) {
      out.close();
      fresh.removeQuietly(temporary);
    }
  }
}
