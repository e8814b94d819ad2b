package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.LongUnaryOperator;

/**
 * A filesystem that machines share, whose server may tell other change times than the true ones.
 */
public final class SharedFs extends FilterFs {
  private final LongUnaryOperator told;

  public SharedFs(StoreFs inner) {
    this(inner, time -> time);
  }

  /**
   * @param told the time that it tells of a change; nanoseconds since the Unix epoch
   */
  public SharedFs(StoreFs inner, LongUnaryOperator told) {
    super(inner);
    this.told = told;
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus s = inner.status(path);
    return changedAt(s, told.applyAsLong(s.changeTime()));
  }
}
