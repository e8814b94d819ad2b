package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;
import java.util.List;

/**
 * A user who may only read, on a client that lists one directory as it was, for ever: having made
 * no entry there, nothing tells it better.
 */
public final class OldListingFs extends FilterFs {
  /** Somebody who lists so often without a pause would not end. */
  private static final int TOO_OFTEN = 1_000;

  private final Path directory;
  private final List<String> names;
  private int listed;

  /**
   * @param names what was in the directory
   */
  public OldListingFs(StoreFs inner, Path directory, List<String> names) {
    super(inner);
    this.directory = directory;
    this.names = List.copyOf(names);
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    throw new AccessDeniedException(file.toString());
  }

  @Override
  public List<String> list(Path asked) throws IOException {
    if (!asked.equals(directory)) {
      return inner.list(asked);
    }
    if (++listed > TOO_OFTEN) {
      throw new AssertionError("lists again and again: " + directory);
    }
    return names;
  }
}
