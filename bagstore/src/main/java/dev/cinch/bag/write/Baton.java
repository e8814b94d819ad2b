package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.DataFileEnd;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.LocalSlots.Slot;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One writer's hold on a slot of {@link LocalShare}: takes over the data file that another process
 * left there, and leaves its own behind. Confined to the committer of one {@link LogWriter}.
 *
 * <p>Must hold at all times:
 *
 * <ul>
 *   <li>A slot that somebody holds is empty. So it says "appending" from before the first byte
 *       until the writer closed with all its batches confirmed, whatever happens in between.
 *   <li>Whoever goes on with a file has removed its token from the bucket, which one process in the
 *       world can: copies of a machine have the slot twice, and the store has the token once.
 *   <li>Nothing here makes an append fail: in any doubt there is no file to go on with.
 * </ul>
 */
@CheckReturnValue
final class Baton {
  private static final Logger LOG = LoggerFactory.getLogger(Baton.class);

  private final LocalShare share;
  private final LogContext log;
  private final StoreFs fs;
  private final Durability durability;
  private @Nullable Slot slot;

  Baton(LocalShare share, LogContext log, Durability durability) {
    this.share = share;
    this.log = log;
    this.fs = log.store().fs();
    this.durability = durability;
  }

  /**
   * Takes over a file of the bucket, to which nobody else appends any more.
   *
   * @param entered the bucket as this process found it for itself; its file is not made yet
   * @param first timestamp of the batch to come
   * @return null if there is none: then make that file
   */
  @Nullable BucketFile take(BucketFile entered, long first) {
    try {
      Slot held = slot;
      if (held == null) {
        held = share.lock(log, durability).orElse(null);
        if (held == null) {
          return null;
        }
        slot = held;
      }
      byte[] state = held.read();
      if (state.length == 0) {
        return null;
      }
      held.write(new byte[0]); // "appending", before anything else
      return goOn(RestingFile.decode(state, held.path()), entered, first);
    } catch (IOException e) {
      LOG.debug("{}: no file to share: {}", log.layout().name(), e.toString());
      return null;
    }
  }

  private @Nullable BucketFile goOn(RestingFile resting, BucketFile entered, long first)
      throws IOException {
    if (!resting.boot().equals(share.boot())
        || !resting.store().equals(log.store().identity().id())
        || !resting.log().equals(log.id())
        || resting.bucket() != entered.bucket.start()) {
      return null;
    }
    fs.unlink(entered.directory.resolve(resting.token())); // or it is somebody else's
    BucketFile file = entered.of(resting.name());
    try (StoreFile in = log.store().fresh().read(file.path)) {
      long size = in.size();
      LockedFile end = new DataFileEnd().measure(in, size, header(file));
      if (size != resting.length() || end.validLength() != size || end.last() >= first) {
        return null; // a file's timestamps must go on increasing, whoever writes
      }
      file.length = size;
      file.digest = end.digest();
      file.messages = end.messages();
      file.first = end.first();
      file.witnessesBefore = resting.witnesses();
      file.out = fs.append(file.path); // not one that a backup has linked meanwhile
      return file;
    }
  }

  private FileHeader header(BucketFile file) {
    return new FileHeader(log.store().identity().id(), log.id(), file.bucket, file.name);
  }

  /**
   * Lets go of the slot, which then offers the file to the next process.
   *
   * @param file one whose every batch was confirmed and which is not appended to again; null: none
   */
  void pass(@Nullable BucketFile file) {
    Slot held = slot;
    slot = null;
    if (held == null) {
      return;
    }
    try (held) {
      if (file != null && log.store().time().wallNanos() < file.bucket.end()) {
        Path token = log.store().fresh().temporary(file.directory);
        fs.create(token, log.store().fileMode()).close();
        var resting =
            new RestingFile(
                share.boot(),
                log.store().identity().id(),
                log.id(),
                file.bucket.start(),
                file.name,
                file.length,
                file.witnessesInFile(),
                token.getFileName().toString());
        held.write(resting.encode());
      }
    } catch (IOException e) {
      LOG.debug("{}: the file is not shared: {}", log.layout().name(), e.toString());
    }
  }
}
