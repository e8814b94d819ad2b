package dev.cinch.bag.close;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.layout.LogLayout;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Locks as files: one of very many data files has its list in parts beside it, each named by its
 * digest and linked before it. So no file of a lock is longer than every reader takes. Thread-safe.
 */
@CheckReturnValue
public final class LockFiles {
  /** The longest lock that is read, bytes; and what is written of one is a fraction of that. */
  public static final int MAX_BYTES = 1 << 26;

  /** What a lock or a part of one has at most before the next part begins, bytes. */
  static final int PART_BYTES = 1 << 22;

  private final Fresh fresh;
  private final int partBytes;

  public LockFiles(Fresh fresh) {
    this(fresh, PART_BYTES);
  }

  LockFiles(Fresh fresh, int partBytes) {
    this.fresh = fresh;
    this.partBytes = partBytes;
  }

  /**
   * What a lock says, its parts included.
   *
   * @param bytes of the lock itself
   * @param path of the lock
   * @throws DamagedException also if a part is missing or another one
   */
  public BucketLock decode(byte[] bytes, Path path) throws IOException {
    BucketLock lock = BucketLock.decode(bytes, path);
    if (lock.parts().isEmpty()) {
      return lock;
    }
    var files = new ArrayList<LockedFile>();
    for (BucketLock.Part part : lock.parts()) {
      Path file = LogLayout.lockPart(path, part.sha256());
      try {
        files.addAll(fresh.decode(file, MAX_BYTES, b -> BucketLock.decodePart(b, file, part)));
      } catch (NoSuchFileException e) {
        throw new DamagedException(file, 0, "a part of the lock beside it", "no file");
      }
    }
    return lock.withFiles(files, path);
  }

  /**
   * Publishes the parts of a lock, if it takes any.
   *
   * @param path where the lock is to stand
   * @return the lock as it is to be published, naming its parts
   * @throws IOException if it would be too long for readers all the same; nothing of it counts then
   */
  BucketLock inParts(BucketLock lock, Path path, int mode) throws IOException {
    List<List<LockedFile>> groups = split(lock.files());
    if (groups.size() <= 1) {
      return lock;
    }
    var parts = new ArrayList<BucketLock.Part>();
    for (List<LockedFile> group : groups) {
      byte[] bytes = BucketLock.encodePart(group);
      var part = new BucketLock.Part(Envelope.sha256(bytes), group.size());
      fresh.publish(LogLayout.lockPart(path, part.sha256()), bytes, mode);
      parts.add(part);
    }
    BucketLock whole = lock.withParts(parts);
    if (whole.encode().length > MAX_BYTES) {
      throw new IOException(
          "%s: a lock of %d data files in %d parts is longer than %d bytes, which is what readers"
                  .formatted(path, lock.files().size(), parts.size(), MAX_BYTES)
              + " take: the bucket can't be closed");
    }
    return whole;
  }

  private List<List<LockedFile>> split(List<LockedFile> files) {
    var groups = new ArrayList<List<LockedFile>>();
    long left = 0;
    for (LockedFile file : files) {
      if (groups.isEmpty() || file.encodedBytes() > left) {
        groups.add(new ArrayList<>());
        left = partBytes;
      }
      groups.get(groups.size() - 1).add(file);
      left -= file.encodedBytes();
    }
    return groups;
  }

  /**
   * Removes parts that the lock does not name: of closers that were slower, or were killed. Once
   * there is a lock none of them will ever count.
   *
   * @param names what was listed in the bucket
   * @param mine what this process wanted to publish
   */
  void sweep(Path directory, List<String> names, BucketLock mine, BucketLock truth) {
    Set<String> kept = new HashSet<>();
    truth.parts().forEach(part -> kept.add(LogLayout.lockPartName(part.sha256())));
    Set<String> others = new HashSet<>();
    mine.parts().forEach(part -> others.add(LogLayout.lockPartName(part.sha256())));
    names.stream().filter(LogLayout::isLockPart).forEach(others::add);
    others.removeAll(kept);
    others.forEach(name -> fresh.removeQuietly(directory.resolve(name)));
  }
}
