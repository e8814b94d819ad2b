package dev.cinch.cli.append;

import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Failure;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Finds out which lines of an input were appended before. Each line is in the log only if those
 * before it are ({@link AppendJob} sees to that), so what is there are the input's first lines, in
 * order. All of it is compared before anything is written. Not thread-safe.
 */
final class Resumption {
  private final Earlier earlier;
  private final long width;
  private final boolean complete;
  private LineReader.@Nullable Lines lines;
  private @Nullable Receipt[] fates = new @Nullable Receipt[0];
  private int at;
  private @Nullable Bucket bucket;

  /** What was appended before. */
  @FunctionalInterface
  interface Earlier {
    /** Gives each message in the log's order, while the sink wants more. */
    void each(MessageSink sink) throws IOException;
  }

  /** Where lines go once it is known which were there. */
  @FunctionalInterface
  interface Taker {
    /**
     * Takes all of them; false if no more are wanted.
     *
     * @param fates of those that were appended before
     */
    boolean take(LineReader.Lines lines, @Nullable Receipt[] fates) throws InterruptedException;
  }

  /**
   * @param width of the log's buckets, nanoseconds
   * @param complete whether nothing comes behind the inputs' ends any more
   */
  Resumption(Earlier earlier, long width, boolean complete) {
    this.earlier = earlier;
    this.width = width;
    this.complete = complete;
  }

  /** Compares a payload with bytes of the input as it comes. */
  private static final class Comparison extends OutputStream {
    private byte[] bytes = new byte[0];
    private int at;
    private boolean same;

    void begin(byte[] with, int offset) {
      bytes = with;
      at = offset;
      same = true;
    }

    @Override
    public void write(int b) {
      same &= bytes[at++] == (byte) b;
    }

    @Override
    public void write(byte[] b, int offset, int length) {
      same = same && Arrays.equals(b, offset, offset + length, bytes, at, at + length);
      at += length;
    }
  }

  /** Whether a line may be a piece of the one that a later start finds in its place. */
  boolean awaitsEnd(LineReader.Lines of, int index) {
    return !complete && of.isUnfinished(index);
  }

  /** Somebody wants no more, or was interrupted, in the middle of a read of the log. */
  private static final class StoppedException extends IOException {
    private static final long serialVersionUID = 1;
  }

  /**
   * Takes the lines that were appended before, and those of the last read that were not.
   *
   * @param place where a line is, in words
   * @return false if no more are wanted
   * @throws Failure.Refusal if the input is not the one that was begun
   */
  boolean skip(LineReader reader, LongFunction<String> place, Taker taker)
      throws IOException, InterruptedException {
    var comparison = new Comparison();
    try {
      earlier.each(
          message -> {
            LineReader.Lines now = next(reader, taker);
            if (now == null) {
              throw differs(message, "the input ends before");
            }
            boolean same = now.length(at) == message.length();
            if (same) {
              comparison.begin(now.bytes, now.start(at));
              message.writeTo(comparison);
              same = comparison.same;
            }
            if (!same) {
              throw differs(
                  message, "line " + place.apply(now.first + at) + " of the input is not");
            }
            fates[at++] = receipt(message);
            return true;
          });
    } catch (StoppedException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      return false;
    }
    LineReader.Lines rest = lines;
    return rest == null || taker.take(rest, fates);
  }

  /** Those among which the next line is; null if there is none. */
  private LineReader.@Nullable Lines next(LineReader reader, Taker taker) throws IOException {
    while (true) {
      LineReader.Lines now = lines;
      if (now != null && at < now.count()) {
        return now;
      }
      try {
        if (now != null && !taker.take(now, fates)) {
          throw new StoppedException();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new StoppedException();
      }
      now = reader.read();
      lines = now;
      at = 0;
      if (now == null) {
        return null;
      }
      fates = new @Nullable Receipt[now.count()];
    }
  }

  private Receipt receipt(Message m) {
    Bucket known = bucket;
    if (known == null || !known.contains(m.timestamp())) {
      known = Bucket.of(m.timestamp(), width);
      bucket = known;
    }
    return new Receipt.Committed(m.timestamp(), known, m.file(), m.position());
  }

  private static Failure.Refusal differs(Message m, String how) {
    return new Failure.Refusal(
        how
            + " the message of "
            + Moment.text(m.timestamp())
            + " ("
            + m.file()
            + ", position "
            + m.position()
            + ") that the log has there: this is not the input that was begun; nothing was appended");
  }
}
