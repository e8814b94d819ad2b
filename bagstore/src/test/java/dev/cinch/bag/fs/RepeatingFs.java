package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;

/**
 * A client whose every request to create a file is sent twice, since the first answer was lost: the
 * second one says that the file exists.
 */
public final class RepeatingFs extends FilterFs {
  public RepeatingFs(StoreFs inner) {
    super(inner);
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    super.create(file, mode).close();
    throw new FileAlreadyExistsException(file.toString());
  }
}
