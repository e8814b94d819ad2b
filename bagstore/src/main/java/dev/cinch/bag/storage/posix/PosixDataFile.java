package dev.cinch.bag.storage.posix;

import static java.util.Objects.requireNonNull;

import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.storage.Entered;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A data file that is open for appending, and the prelock beside it. Not thread-safe. */
final class PosixDataFile implements Entered {
  private static final Logger LOG = LoggerFactory.getLogger(PosixDataFile.class);

  private final PosixStore store;
  private final StoreFs fs;
  private final Path path;
  private final Path prelock;
  private final FileStatus entered;
  private final boolean sync;
  private @Nullable StoreFile out;
  private boolean written;

  /** Where the frames end that were appended. */
  private long end;

  /** The same with what a kernel was asked to write last. */
  private long handed;

  /**
   * @param prelockStatus the prelock as it was when the bucket was entered
   * @param sync whether what was appended survives a loss of power
   */
  PosixDataFile(
      PosixStore store,
      Path path,
      StoreFile out,
      Path prelock,
      FileStatus prelockStatus,
      boolean sync) {
    this.store = store;
    this.fs = store.fs();
    this.path = path;
    this.out = out;
    this.prelock = prelock;
    this.entered = prelockStatus;
    this.sync = sync;
  }

  @Override
  public void append(ByteBuffer[] frame) throws IOException {
    StoreFile file = requireNonNull(out);
    // Where others may not see what was only written, "visible" takes forcing too.
    boolean force = sync || !fs.isLocal(path);
    handed = end;
    for (ByteBuffer part : frame) {
      handed += part.remaining();
    }
    file.write(frame);
    if (force) {
      file.force();
    }
    if (sync && !written) {
      fs.forceDirectory(requireNonNull(path.getParent()));
    }
    written = true;
    end = handed;
  }

  /**
   * Where other machines see the file, or a server writes it, what was given to the kernel may
   * arrive late and out of order. Here a write that has returned is over, and the size says it.
   */
  @Override
  public long mostThere() {
    StoreFile file = out;
    try {
      if (file != null && fs.isLocal(path)) {
        return Math.min(handed, file.size());
      }
    } catch (IOException e) {
      LOG.debug("{}: how much is there is not known: {}", path, e.toString());
    }
    return handed;
  }

  @Override
  public Mark look() throws IOException {
    try {
      FileStatus now = fs.freshStatus(prelock);
      if (now.size() != 0 || !now.sameUnchanged(entered)) {
        return Mark.SEALED;
      }
    } catch (NoSuchFileException e) {
      return Mark.SEALED; // a wrong "no" from a cache only leads to the verdict
    }
    // Where the look at the prelock may come from a cache, only new listings tell (rule N6).
    return fs.readsReachServer(prelock) ? Mark.OPEN : Mark.UNSURE;
  }

  @Override
  public long changedAt() throws IOException {
    return fs.isLocal(path)
        ? fs.status(path).changeTime()
        : store.now(); // the file's may be this client's, or old (N6)
  }

  @Override
  public void leave() {
    StoreFile open = out;
    out = null;
    if (open == null) {
      return;
    }
    try {
      open.close();
    } catch (IOException e) {
      LOG.debug("{}: left: {}", path, e.toString());
    }
  }
}
