package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Walks one data file of a closed bucket, message by message, for whoever must know more than a
 * reader: the frame that a message stands in, and what it was written under, valid or not. Not
 * thread-safe.
 */
@CheckReturnValue
public final class FileScan implements Closeable {
  private final DataFileCursor cursor;
  private final LeaseTable leases;

  private FileScan(DataFileCursor cursor, LeaseTable leases) {
    this.cursor = cursor;
    this.leases = leases;
  }

  /**
   * Opens a file up to the valid length that its lock gives.
   *
   * @param keys those that apply to the bucket (rule F3)
   * @throws dev.cinch.bag.format.DamagedException if it does not begin with its header
   */
  public static FileScan open(
      LogContext log, Bucket bucket, LockedFile locked, WitnessVerifier keys) throws IOException {
    Path path = LogLayout.dataFile(log.layout().bucket(bucket), locked.name());
    var header = new FileHeader(log.store().identity().id(), log.id(), bucket, locked.name());
    var leases = new LeaseTable(keys, log.id());
    StoreFile in = log.store().fresh().read(path);
    try {
      return new FileScan(
          new DataFileCursor(
              path,
              header,
              in,
              () -> log.store().fs().readUncached(path),
              locked.validLength(),
              locked.copy(),
              true,
              leases),
          leases);
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
  }

  /** Goes to the next message; false at the valid length. */
  public boolean next() throws IOException {
    return cursor.next();
  }

  /** Of the current message. */
  public long timestamp() {
    return cursor.timestamp();
  }

  /** Where the batch of the current message begins in the file. */
  public long frameOffset() {
    return cursor.frameOffset();
  }

  public Path path() {
    return cursor.path();
  }

  /** What the current message was written under; null if under no lease. */
  public @Nullable LeaseSet leases() {
    return cursor.leaseSet();
  }

  /** How many signed witnesses stand in the file up to here. */
  public int witnesses() {
    return leases.witnesses();
  }

  @Override
  public void close() throws IOException {
    cursor.close();
  }
}
