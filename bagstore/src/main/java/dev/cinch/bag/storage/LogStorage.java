package dev.cinch.bag.storage;

import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import java.io.IOException;
import java.util.OptionalLong;

/**
 * One log's place in a storage: the verbs of the protocol, and their promises S1 to S8
 * (protocol.md, section 1).
 *
 * <p>Times are nanoseconds since the Unix epoch, by the storage's clock unless said otherwise.
 *
 * <p>Errors are those of {@code java.nio.file}: {@link java.nio.file.NoSuchFileException} for what
 * is not there, {@link java.nio.file.AccessDeniedException} for what this user may not do, and
 * other {@link IOException}s for the rest. {@link dev.cinch.bag.storage.StoreReplacedException}
 * where another store, or another log, stands in the place of the one that was opened.
 * Implementations are thread-safe.
 */
public interface LogStorage {
  /**
   * Looks whether the store and the log there are still those that were opened: before anything is
   * published or deleted. A log that was removed meanwhile is not another one: its last record
   * leaves no place for a further one.
   *
   * @throws dev.cinch.bag.storage.StoreReplacedException if one is another
   * @throws java.nio.file.NoSuchFileException if none is there, as where a mount has gone
   */
  void requireSame() throws IOException;

  /**
   * Makes sure that a bucket exists, remembers its mark, and makes a data file there: append, step
   * 2. Nothing is written to that yet.
   *
   * @param file a name that was never used before
   * @param durability what {@link Entered#append} answers for when it returns
   * @throws BucketSealedException if the bucket has its mark
   */
  Entered enter(Bucket bucket, DataFileName file, Durability durability) throws IOException;

  /**
   * Opens a data file: of a closed bucket {@link Freshness#CACHED}; {@link Freshness#PERMITTED} one
   * that somebody may be writing, with its size as it is now; {@link Freshness#CERTAIN} where what
   * was read looks damaged.
   */
  Stored open(Bucket bucket, DataFileName file, Freshness freshness) throws IOException;

  /** Sets the mark that {@link Entered#look} looks for (S2), and begins to close: close, step 1. */
  Closing seal(Bucket bucket) throws IOException;

  /**
   * Makes durable what somebody else published in a bucket, and shows it past caches: its closer
   * may have stopped before that.
   */
  void finish(Bucket bucket) throws IOException;

  /** Turns the bytes of a document into what they say. */
  @FunctionalInterface
  interface Decoder<T> {
    T decode(byte[] bytes) throws IOException;
  }

  /**
   * Publishes a document (S3). Whatever becomes of it, the truth is what is there afterwards: read
   * it. A seal, which is all name, may be there already.
   *
   * @throws IOException also when nothing was published
   */
  void publish(Name document, byte[] content) throws IOException;

  /** Documents that are looked for by their last number. */
  enum Family {
    /** They say how far the log was retired (rule R2). */
    CHECKPOINT,
    /** They say how far the log expired (rule R4). */
    FLOOR,
    /** Segments. */
    SEGMENT;

    /** The highest number; empty if there is none. */
    public OptionalLong last(StoreStorage store, LogLayout log, Freshness freshness)
        throws IOException {
      Name place = this == SEGMENT ? log.segments() : log.checkpoints();
      return store.listIfThere(place, freshness).stream()
          .map(this::number)
          .flatMapToLong(OptionalLong::stream)
          .max();
    }

    private OptionalLong number(String name) {
      return this == FLOOR ? LogLayout.floorNumber(name) : Numbered.parse(name);
    }
  }

  /** How things look that may be cached. */
  enum Freshness {
    /** As far as this machine knows: up to a minute old. */
    CACHED,
    /** As fresh as this user may ask. */
    PERMITTED,
    /** Past every cache. */
    CERTAIN
  }
}
