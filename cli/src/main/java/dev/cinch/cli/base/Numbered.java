package dev.cinch.cli.base;

import dev.cinch.bag.Log;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.read.Gap;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/**
 * Numbers settled messages by their place in the log, from 1; those that no lease permits have a
 * number, and are not seen. Each is to be read once. Not thread-safe.
 */
public final class Numbered {
  private final boolean wanted;
  private final Of current = new Of();
  private long start = Long.MIN_VALUE;
  private long next = 1;

  /**
   * @param wanted whether anybody wants numbers; if not, messages are handed on as they are
   */
  public Numbered(boolean wanted) {
    this.wanted = wanted;
  }

  /** A message and its number. */
  public interface Sequenced extends Message {
    /** Its number in the log, from 1; 0 if it has none yet. */
    long sequence();
  }

  /**
   * To be called before anything is read.
   *
   * @param from where printing is to begin
   * @return where reading has to begin, so that none is missed
   */
  public long begin(Log log, long from) throws IOException {
    if (!wanted) {
      return from;
    }
    long boundary = log.reader().settledThrough(); // what is settled later is counted as it comes
    if (from < boundary) {
      boundary = from == Long.MIN_VALUE ? from : Bucket.floor(from, log.context().bucketWidth());
    }
    start = from;
    next = log.reader().settledBefore(boundary) + 1;
    return boundary;
  }

  public MessageSink counting(MessageSink sink) {
    if (!wanted) {
      return sink;
    }
    return m -> {
      current.message = m;
      current.sequence = number(m);
      return m.timestamp() < start || sink.accept(current);
    };
  }

  public LogReader.Objection counting(LogReader.Objection objection) {
    if (!wanted) {
      return objection;
    }
    return new LogReader.Objection() {
      @Override
      public void ignored(Message m, Path file, String why) {
        long unused = number(m);
        if (m.timestamp() >= start) {
          objection.ignored(m, file, why);
        }
      }

      @Override
      public void expired(Gap gap) throws IOException {
        OptionalLong missing = gap.messages();
        if (gap.before().isPresent()) { // counted anew: what was counted before is gone
          missing = OptionalLong.of(gap.before().getAsLong() + 1 - next);
          next = gap.before().getAsLong() + 1;
        }
        boolean printed = gap.from() >= start; // else nobody was shown what is before it
        if (missing.orElse(1) > 0 && gap.to() > start) {
          objection.expired(
              new Gap(
                  Math.max(start, gap.from()),
                  gap.to(),
                  printed ? missing : OptionalLong.empty(),
                  gap.before(),
                  gap.inside() && printed));
        }
      }
    };
  }

  private long number(Message m) {
    return m.settled() ? next++ : 0;
  }

  /** Used for one after the other, as all messages are. */
  @SuppressWarnings("NullAway.Init")
  private static final class Of implements Sequenced {
    private Message message;
    private long sequence;

    @Override
    public long sequence() {
      return sequence;
    }

    @Override
    public long timestamp() {
      return message.timestamp();
    }

    @Override
    public DataFileName file() {
      return message.file();
    }

    @Override
    public long position() {
      return message.position();
    }

    @Override
    public int length() {
      return message.length();
    }

    @Override
    public byte[] payload() {
      return message.payload();
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
      message.writeTo(out);
    }

    @Override
    public List<SignedWitness> leases() {
      return message.leases();
    }

    @Override
    public boolean permitted() {
      return message.permitted();
    }

    @Override
    public boolean settled() {
      return message.settled();
    }
  }
}
