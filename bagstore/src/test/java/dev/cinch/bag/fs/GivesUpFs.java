package dev.cinch.bag.fs;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A client that gives requests up, as a soft mount does: it is told of an error for links below a
 * directory of some name, and the server carries the last one out when the test says so. Not
 * thread-safe.
 */
public final class GivesUpFs extends FilterFs {
  private final String directory;
  private @Nullable Path file;
  private @Nullable Path name;

  public GivesUpFs(StoreFs inner, String directory) {
    super(inner);
    this.directory = directory;
  }

  @Override
  public void link(Path existing, Path link) throws IOException {
    if (!link.toString().contains("/" + directory + "/")) {
      inner.link(existing, link);
      return;
    }
    file = existing;
    name = link;
    throw new IOException(link + ": timed out");
  }

  @Override
  public void unlink(Path path) throws IOException {
    if (path.equals(file)) {
      throw new IOException(path + ": timed out");
    }
    inner.unlink(path);
  }

  /** The server gets to it. */
  public void carryOut() throws IOException {
    try {
      inner.link(requireNonNull(file), requireNonNull(name));
    } catch (FileAlreadyExistsException e) {
      // Somebody else was here meanwhile.
    }
  }
}
