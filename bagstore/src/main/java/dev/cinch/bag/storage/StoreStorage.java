package dev.cinch.bag.storage;

import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.LogStorage.Decoder;
import dev.cinch.bag.storage.LogStorage.Freshness;
import dev.cinch.lease.Id;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;

/**
 * A storage's place for a store: the documents that are the store's own, and its logs.
 *
 * <p>A document is named as {@link dev.cinch.bag.layout.StoreLayout} names it, whether a filesystem
 * has that name or not, and the name above it is its place. It is written once (S3), and some say
 * all by their name. What was made is durable once its place was {@linkplain #secure secured} (S6).
 *
 * <p>What only filesystems have, such as caches, owners, and places that must be made, says nothing
 * unless a storage says otherwise.
 *
 * <p>Errors, times and threads are as {@link LogStorage} has them.
 */
public interface StoreStorage {
  /**
   * Looks whether the store there is still the one that was opened: before anything is published.
   *
   * @throws dev.cinch.bag.storage.StoreReplacedException if it is another one
   * @throws java.nio.file.NoSuchFileException if none is there, as where a mount has gone
   */
  void requireSame() throws IOException;

  /** The storage's own clock (S8): the time that it gives a change made just now. */
  long now() throws IOException;

  /** The place of a log's bags. */
  LogStorage log(LogLayout layout, Id id);

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
  Optional<List<String>> listIfPermitted(Name place) throws IOException;

  /** As {@link #listIfPermitted}; who may not ask so waits until every cache has expired. */
  default List<String> listNow(Name place) throws IOException {
    Optional<List<String>> now = listIfPermitted(place);
    if (now.isPresent()) {
      return now.get();
    }
    Patience wait = patience(place);
    boolean more = true;
    while (more) {
      more = wait.again();
    }
    return list(place, Freshness.CACHED);
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

  /** As {@link #read(Name, int, Freshness, Decoder)}, as far as this machine knows. */
  default <T> T read(Name document, int limit, Decoder<T> decoder) throws IOException {
    return read(document, limit, Freshness.CACHED, decoder);
  }

  /**
   * Opens a document; {@link Freshness#PERMITTED} with its size as the storage has it now, {@link
   * Freshness#CERTAIN} where what was read looks damaged.
   */
  Stored open(Name document, Freshness freshness) throws IOException;

  /** When a document was made, or something in a place made or removed; or later. */
  long changedAt(Name name) throws IOException;

  /** Content that may become that of documents of one place. Not thread-safe. */
  interface Draft extends Closeable {
    void write(ByteBuffer bytes) throws IOException;

    /** Nothing more is written: the content is durable when this returns. */
    void finish() throws IOException;

    /**
     * Makes what was finished the content of a document, unless there is one.
     *
     * @return whether this made it. If not, it may have all the same: the truth is what is there
     */
    boolean publish(Name document) throws IOException;

    @Override
    void close();
  }

  /** Begins a draft. */
  Draft draft(Name place) throws IOException;

  /** A draft that is finished; looks then whether the store is the same. */
  default Draft draft(Name place, byte[] content) throws IOException {
    Draft draft = draft(place);
    boolean whole = false;
    try {
      draft.write(ByteBuffer.wrap(content));
      draft.finish();
      requireSame();
      whole = true;
      return draft;
    } finally {
      if (!whole) { // also for want of memory
        draft.close();
      }
    }
  }

  /**
   * Publishes one document as {@link Draft#publish} does, and secures it; unless the store is
   * another one.
   *
   * @param content nothing where it says all by its name
   */
  default boolean publish(Name document, byte[] content) throws IOException {
    Name place = document.parent();
    try (Draft draft = draft(place, content)) {
      boolean made = draft.publish(document);
      secure(place);
      return made;
    }
  }

  /** Makes durable what is in a place, whoever made it. */
  default void secure(Name place) throws IOException {}

  /**
   * Removes a document.
   *
   * @return false if it was gone
   */
  boolean remove(Name document) throws IOException;

  /** Removes a document that others would sweep as well, so a failure is none. */
  default void removeQuietly(Name document) {
    try {
      boolean unused = remove(document);
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

  /** Waits until those who may ask past no cache see a document, too, which is there. */
  default void awaitReaders(Name document) throws IOException {}
}
