package dev.cinch.bag.model;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Walks the directories above the buckets of a log. How fresh a listing is, and what is made of one
 * that fails, its user says. Thread-safe.
 *
 * @param bucketWidth the store's, nanoseconds
 */
@CheckReturnValue
public record BucketTree(LogLayout layout, long bucketWidth) {
  /** Lists a directory of the tree. */
  @FunctionalInterface
  public interface Lister {
    /**
     * @param end no bucket in it ends later; {@link Long#MAX_VALUE} of the outermost one
     * @param width of what stands in it: of an era, a group or a bucket
     */
    List<String> list(Name directory, long end, long width) throws IOException;
  }

  /** Told of what is listed, in order. */
  @FunctionalInterface
  public interface Visitor {
    /**
     * @return whether to go on
     */
    boolean bucket(Bucket bucket) throws IOException;

    /**
     * An era or a group, after all that stands in it.
     *
     * @param end no bucket in it ends later
     */
    default void parent(Name directory, long end) throws IOException {}
  }

  /**
   * Walks what is listed of {@code [from, to)}.
   *
   * @return whether the visitor wanted all of it
   */
  public boolean walk(long from, long to, Lister lister, Visitor visitor) throws IOException {
    long width = LogLayout.eraWidth(bucketWidth);
    return walk(layout.buckets(), Long.MAX_VALUE, width, from, to, lister, visitor);
  }

  private boolean walk(
      Name directory, long end, long width, long from, long to, Lister lister, Visitor visitor)
      throws IOException {
    List<String> names = lister.list(directory, end, width);
    for (long start : LogLayout.starts(directory, names, from, to, width)) {
      if (width == bucketWidth) {
        if (!visitor.bucket(new Bucket(start, width))) {
          return false;
        }
        continue;
      }
      Name child = directory.resolve(TimeName.of(start));
      long inner = width / LogLayout.FAN_OUT;
      if (!walk(child, start + width, inner, from, to, lister, visitor)) {
        return false;
      }
      visitor.parent(child, start + width);
    }
    return true;
  }

  /** What is listed of {@code [from, to)}, ascending. */
  public List<Bucket> find(long from, long to, Lister lister) throws IOException {
    var found = new ArrayList<Bucket>();
    boolean unused = walk(from, to, lister, found::add);
    return found;
  }
}
