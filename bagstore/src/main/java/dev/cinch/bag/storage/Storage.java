package dev.cinch.bag.storage;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A place that keeps a store: the verbs of the protocol, and their promises S1 to S8 (protocol.md,
 * section 1).
 *
 * <p>Everything has a name of {@link dev.cinch.bag.model.StoreLayout} or {@link
 * dev.cinch.bag.model.LogLayout}, and the name above it is its place. A document is written once
 * (S3), and some say all by their name. A data file grows, in a bucket, until that has its mark.
 * What was made is durable once its place was {@linkplain #secure secured} (S6).
 *
 * <p>Whether the store and the log there are still those that were opened {@link
 * dev.cinch.bag.store.LogContext#requireSame} asks, before anything is published or deleted.
 *
 * <p>What only filesystems have, such as caches, owners, and places that must be made, says nothing
 * unless a storage says otherwise.
 *
 * <p>Times are nanoseconds since the Unix epoch, by the storage's clock unless said otherwise.
 * Errors are those of {@code java.nio.file}: {@link NoSuchFileException} for what is not there,
 * {@link java.nio.file.AccessDeniedException} for what this user may not do, and other {@link
 * IOException}s for the rest. Implementations are thread-safe.
 */
public interface Storage {
  /** The storage's own clock (S8): the time that it gives a change made just now. */
  long now() throws IOException;

  /**
   * Makes sure that a bucket exists, remembers its mark, and makes a data file there: append, step
   * 2. Nothing is written to that yet.
   *
   * @param dataFile a name that was never used before, in a bucket
   * @param durability what {@link Entered#append} answers for when it returns
   * @throws BucketSealedException if the bucket has its mark
   */
  Entered enter(Name dataFile, Durability durability) throws IOException;

  /** How many appends of a writer may be on their way at once, each to a data file of its own. */
  default int appendsAtOnce() {
    return 1;
  }

  /** Whether a listing costs much more than to ask for one name. */
  default boolean listsDearly() {
    return false;
  }

  /**
   * Sets a bucket's mark, which {@link Entered#look} looks for (S2): close, step 1. A certain list
   * that begins afterwards has all data files there will be (S1).
   */
  void seal(Name bucket) throws IOException;

  /**
   * Makes sure that there is a place. Durable. That of a log gets what a log has in it, and others
   * see it from then on as one that is being made.
   */
  default void prepare(Name place) throws IOException {}

  /**
   * The names in a place.
   *
   * @param freshness {@link Freshness#CERTAIN} is refused to users who may create nothing there
   * @throws java.nio.file.NoSuchFileException if there may be no such place
   */
  List<String> list(Name place, Freshness freshness) throws IOException;

  /** As {@link #list}, in order; nothing where the place is missing, as it may be in a copy. */
  default List<String> listIfThere(Name place, Freshness freshness) throws IOException {
    try {
      return list(place, freshness).stream().sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  /** The names in a place, past every cache (S5); empty for a user who may not ask so. */
  default Optional<List<String>> listIfPermitted(Name place) throws IOException {
    return Optional.of(list(place, Freshness.CERTAIN));
  }

  /**
   * Whether a document is there that this user may read.
   *
   * @param freshness cached, or as this user may look
   */
  boolean isThere(Name document, Freshness freshness) throws IOException;

  /**
   * Reads a document. Damaged content is read again past every cache before it is believed.
   *
   * @param limit the most bytes that it may have
   * @throws NoSuchFileException if it is not there; a "no" may be old, unless this is {@link
   *     Freshness#CERTAIN}
   */
  <T> T read(Name document, int limit, Freshness freshness, Decoder<T> decoder) throws IOException;

  /**
   * Opens a document or a data file: {@link Freshness#CACHED} what nobody writes any more; {@link
   * Freshness#PERMITTED} with its size as the storage has it now; {@link Freshness#CERTAIN} where
   * what was read looks damaged.
   */
  Stored open(Name name, Freshness freshness) throws IOException;

  /** Turns the bytes of a document into what they say. */
  @FunctionalInterface
  interface Decoder<T> {
    T decode(byte[] bytes) throws IOException;
  }

  /** When a document was made, or something in a place made or removed; or later. */
  long changedAt(Name name) throws IOException;

  /** Content that may become that of documents. Not thread-safe. */
  interface Draft extends Closeable {
    void write(ByteBuffer bytes) throws IOException;

    /** Nothing more is written: the content is durable when this returns. */
    default void finish() throws IOException {}

    /**
     * Makes what was finished the content of a document, unless there is one.
     *
     * @return whether this made it. If not, it may have all the same: the truth is what is there
     */
    boolean publish(Name document) throws IOException;

    @Override
    default void close() {}
  }

  /**
   * Says that what is settled of a log may be retired. To be called before a checkpoint says so,
   * and before any mark goes, by whoever has read already how far that reaches.
   */
  default void giveNotice(LogName log) throws IOException {}

  /**
   * Begins a draft of a document. If that is no settled file, others of its place may get the same
   * content.
   */
  Draft draft(Name document) throws IOException;

  /**
   * Publishes one document as {@link Draft#publish} does, and secures it.
   *
   * @param content nothing where it says all by its name
   */
  default boolean publish(Name document, byte[] content) throws IOException {
    try (Draft draft = draft(document)) {
      draft.write(ByteBuffer.wrap(content));
      draft.finish();
      boolean made = draft.publish(document);
      secure(document.parent());
      return made;
    }
  }

  /** Makes durable what is in a place, whoever made it. */
  default void secure(Name place) throws IOException {}

  /** Removes a document, or a data file; that it is gone is no error. */
  void remove(Name name) throws IOException;

  /** Removes a document that others would sweep as well, so a failure is none. */
  default void removeQuietly(Name document) {
    try {
      remove(document);
    } catch (IOException e) {
      // It stays for them.
    }
  }

  /**
   * Removes an empty place.
   *
   * @throws java.nio.file.DirectoryNotEmptyException if it is not empty
   */
  void removePlace(Name place) throws IOException;

  /** How many bytes this user may still write; empty where that is not told. */
  default OptionalLong free() {
    return OptionalLong.empty();
  }

  /** The owner of a place, as a number. */
  default int owner(Name place) throws IOException {
    return 0;
  }

  /** Whether its owner alone may remove what is in a place, where users of the store share it. */
  default boolean isKept(Name place) throws IOException {
    return false;
  }

  /** Patience with something that looks missing in a place. */
  default Patience patience(Name place) {
    return Patience.NONE;
  }

  /**
   * Makes sure that a document which is there is durable, and that everybody sees it, also those
   * who may ask past no cache: whoever published it may have stopped before that.
   */
  default void show(Name document) throws IOException {}
}
