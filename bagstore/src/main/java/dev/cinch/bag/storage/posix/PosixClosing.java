package dev.cinch.bag.storage.posix;

import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Closing;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Closes a directory. Its temporary file, which becomes the lock, is made before the listing, and
 * so takes the listing past every cache (rule N2). Not thread-safe.
 */
final class PosixClosing implements Closing {
  private static final int PIECE = 1 << 17;

  private final PosixLog log;
  private final BucketProtection protection;
  private final StoreFs fs;
  private final Fresh fresh;
  private final PosixStore store;
  private final Name place;
  private final Path temporary;
  private final StoreFile out;
  private final ByteBuffer piece = ByteBuffer.allocate(PIECE);
  private List<String> names = List.of();

  /** Whether the temporary file is gone. */
  private boolean finished;

  private PosixClosing(PosixLog log, BucketProtection protection, Name place, Path temporary)
      throws IOException {
    this.log = log;
    this.protection = protection;
    this.store = log.store();
    this.fs = store.fs();
    this.fresh = store.fresh();
    this.place = place;
    this.temporary = temporary;
    this.out = fs.create(temporary, store.fileMode());
  }

  static PosixClosing begin(PosixLog log, Bucket bucket, BucketProtection protection)
      throws IOException {
    Name place = log.layout().bucket(bucket);
    setPrelock(log, place); // step 1
    Path temporary = log.store().fresh().temporary(log.store().path(place));
    return new PosixClosing(log, protection, place, temporary); // step 2
  }

  /** All closers write the same byte at the same place. */
  private static void setPrelock(PosixLog log, Name place) throws IOException {
    try (StoreFile out = openOrCreate(log, log.store().path(LogLayout.prelock(place)))) {
      out.write(ByteBuffer.wrap(new byte[] {'x'}));
      out.force();
    }
    log.store().secure(place);
  }

  private static StoreFile openOrCreate(PosixLog log, Path file) throws IOException {
    try {
      return log.store().fs().create(file, log.store().fileMode());
    } catch (FileAlreadyExistsException e) {
      return log.store().fs().overwrite(file);
    }
  }

  @Override
  public List<DataFileName> files() throws IOException {
    names = fs.list(store.path(place));
    List<DataFileName> files =
        names.stream().map(DataFileName::parse).flatMap(Optional::stream).toList();
    for (DataFileName file : files) {
      protection.file(store.path(LogLayout.dataFile(place, file)));
    }
    return files;
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    if (bytes.remaining() > piece.remaining()) {
      flush();
    }
    if (bytes.remaining() > piece.capacity()) {
      out.write(bytes);
    } else {
      piece.put(bytes);
    }
  }

  private void flush() throws IOException {
    out.write(piece.flip());
    piece.clear();
  }

  @Override
  public void publish() throws IOException {
    flush();
    out.force();
    log.requireSame();
    out.close();
    try {
      fs.link(temporary, store.path(LogLayout.lock(place)));
    } catch (FileAlreadyExistsException e) {
      // Lost, or a retransmitted LINK of our own: the truth is what the name holds.
    }
    store.secure(place);
  }

  @Override
  public void finish() {
    for (String name : names) {
      if (Name.isTemporary(name)) {
        store.removeQuietly(place.resolve(name));
      }
    }
    finished = true; // it was listed
    protection.closed(place);
  }

  @Override
  public void close() throws IOException {
    if (!finished) {
      out.close();
      fresh.removeQuietly(temporary);
    }
  }
}
