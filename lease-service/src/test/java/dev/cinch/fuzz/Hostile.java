package dev.cinch.fuzz;

import com.sun.management.ThreadMXBean;
import dev.cinch.lease.OneLine;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Optional;

/**
 * What every parser owes to bytes that nobody vouches for: it takes them or refuses them with an
 * exception that it documents, in one short line, and allocates in proportion to them.
 */
public final class Hostile {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** What a parser may allocate for no input at all, bytes. */
  private static final long BASE = 1 << 20;

  /** And for each byte of input: a tree of JSON takes a hundred. */
  private static final long PER_BYTE = 256;

  /** A first run loads classes, which is not the parser's doing. */
  private static final int MEASUREMENTS = 3;

  /** A document may be quoted in an error, but not all of it. */
  private static final int LONGEST_MESSAGE = 1_000;

  private Hostile() {}

  /** Code under test. */
  @FunctionalInterface
  public interface Parser<T> {
    T parse() throws Exception;
  }

  /**
   * Parses.
   *
   * @param input bytes of input
   * @param documented exceptions that may come of it
   * @return empty if it was refused
   */
  public static <T> Optional<T> parse(int input, Parser<T> parser, Class<?>... documented) {
    return parse(input, 0, parser, documented);
  }

  /**
   * Parses.
   *
   * @param extra bytes that may be allocated besides, whatever the input
   */
  public static <T> Optional<T> parse(
      int input, long extra, Parser<T> parser, Class<?>... documented) {
    long allowed = BASE + extra + PER_BYTE * input;
    for (int i = 1; ; i++) {
      long before = THREADS.getCurrentThreadAllocatedBytes();
      Optional<T> result = once(parser, documented);
      long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
      if (allocated <= allowed) {
        return result;
      }
      if (i == MEASUREMENTS) {
        throw new AssertionError(
            "%d bytes of input made it allocate %d bytes, more than %d"
                .formatted(input, allocated, allowed));
      }
    }
  }

  private static <T> Optional<T> once(Parser<T> parser, Class<?>... documented) {
    try {
      return Optional.of(parser.parse());
    } catch (Exception e) {
      if (Arrays.stream(documented).noneMatch(type -> type.isInstance(e))) {
        throw new AssertionError("not a documented exception: " + e, e);
      }
      String message = String.valueOf(e.getMessage());
      if (message.length() > LONGEST_MESSAGE || !OneLine.fits(message)) {
        throw new AssertionError(
            "not one short line (%d characters): %.200s".formatted(message.length(), message), e);
      }
      return Optional.empty();
    }
  }
}
