package dev.cinch.bag.read;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.View;
import dev.cinch.bag.file.Evidence;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.List;

/**
 * Reads a log in order: the settled part, the same for everyone and for ever, or also what is not
 * settled yet (rule H4). Thread-safe. Memory is bounded by the number of data files in one bucket,
 * or in 32 that are not settled, and not by the log.
 */
@CheckReturnValue
public final class LogReader {
  private final LogContext log;
  private final HorizonChain chain;

  public LogReader(LogContext log) {
    this.log = log;
    this.chain = new HorizonChain(log);
  }

  /** Why a message does not exist that was written without a lease. */
  public static final String NAMES_NO_LEASE = "it names no lease";

  /** Told of every message that does not exist because no valid witness permits it (rule F3). */
  @FunctionalInterface
  public interface Objection {
    void ignored(Message message, Name file, String why);

    /**
     * Whether the read fails with {@link ExpiredException} also where messages from its beginning
     * on expired before it gave any: it goes on with an earlier read, and would leave a hole. Else
     * it then begins later than it was asked to (rule R4).
     */
    default boolean needsAll() {
      return false;
    }
  }

  /**
   * Reads settled messages with timestamps in {@code [from, to)}.
   *
   * @param fresh whether to look past every cache for the newest record, as a reader must after an
   *     acquire (rule H3)
   * @return the time through which the log is settled, {@link Long#MIN_VALUE} if nothing is
   * @throws ExpiredException if messages expired after others before them were given, as every read
   *     may; see also {@link Objection#needsAll}
   * @throws DamagedException also at the end, when all else was delivered, if messages were lost
   *     before their bucket was closed (rule C4)
   */
  @CanIgnoreReturnValue
  public long settled(long from, long to, boolean fresh, MessageSink sink, Objection objection)
      throws IOException {
    Freshness freshness = fresh ? Freshness.CERTAIN : Freshness.CACHED;
    return read(new LogCursor(log, from, to, freshness, false, objection), sink).settled();
  }

  /**
   * As {@link #settled(long, long, boolean, MessageSink, Objection)}, as fresh as this user may
   * look: who may not create files in the store gets what this machine knows, which may be old,
   * never wrong. Not for reads after an acquire (rule H3).
   */
  @CanIgnoreReturnValue
  public long settled(long from, long to, MessageSink sink, Objection objection)
      throws IOException {
    return read(cursor(from, to, false, objection), sink).settled();
  }

  private static LogCursor read(LogCursor messages, MessageSink sink) throws IOException {
    try (messages) {
      messages.look();
      boolean more = true;
      for (Message m = messages.next(); more && m != null; m = more ? messages.next() : null) {
        more = sink.accept(m);
      }
      messages.end();
      return messages;
    }
  }

  /**
   * The same messages as {@link #settled(long, long, MessageSink, Objection)} or {@link #live}, one
   * at a time; to be closed.
   */
  public LogCursor cursor(long from, long to, boolean live, Objection objection) {
    return new LogCursor(log, from, to, Freshness.PERMITTED, live, objection);
  }

  /**
   * Reads all settled messages for an audit (section 8), whether a witness permits them or not, and
   * goes on after damage.
   */
  public void evidence(Evidence.Sink sink) throws IOException {
    try (var messages =
        new LogCursor(
            log,
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            Freshness.PERMITTED,
            false,
            (m, f, why) -> {},
            sink)) {
      messages.look();
      for (Evidence m = messages.next(); m != null; m = messages.next()) {
        sink.message(m, messages.settledBefore());
      }
    } catch (DamagedException e) {
      sink.damaged(e); // nobody knows how far the log is settled
    }
  }

  /** The time through which the log is settled, as fresh as this user may look. */
  public long settledThrough() throws IOException {
    return chain.permittedTip().map(tip -> tip.record().to()).orElse(Long.MIN_VALUE);
  }

  /**
   * A time from which on there are as many settled messages before {@code to}, or some more, found
   * from the end. Messages that no valid lease permits count.
   *
   * @param messages above 0
   * @return {@link Long#MIN_VALUE} if there are fewer
   */
  public long startOfLast(long messages, long to) throws IOException {
    return View.read(
        () -> chain.view(Freshness.PERMITTED),
        view ->
            view.tip().isEmpty()
                ? Long.MIN_VALUE
                : new Counts(log, chain, view, Long.MIN_VALUE, to).start(messages));
  }

  /**
   * A range in parts that are read one by one, or side by side.
   *
   * @param ends of the parts, ascending, nanoseconds since the Unix epoch; each begins where the
   *     one before ends
   * @param messages in all of them, more or less; 0 only if there are none
   * @param bytes that the files of all of them have, more or less
   */
  public record Parts(List<Long> ends, long messages, long bytes) {
    public Parts {
      ends = List.copyOf(ends);
    }
  }

  /**
   * Divides what is settled from a time on.
   *
   * @param bytes that the files of a part have, at least; of the first one fewer
   * @return no parts if nothing is settled there; else one at least, which may be empty
   */
  public Parts parts(long from, long bytes) throws IOException {
    return View.read(
        () -> chain.view(Freshness.PERMITTED),
        view ->
            view.settled() <= from
                ? new Parts(List.of(), 0, 0)
                : new Counts(log, chain, view, from, view.settled()).parts(bytes));
  }

  /**
   * The time before which messages expired (rule R4), {@link Long#MIN_VALUE} if none did. A read
   * begins there, whatever it asks for; asked after a read, it tells what that may lack.
   */
  public long expired() throws IOException {
    return new Segments(log).expired();
  }

  /**
   * Reads settled messages, then those that are not settled yet, marked so; locks are honoured
   * where they exist, and unlisted buckets in settled time are ignored (rule H4). A message that is
   * not settled may be REJECTED after it was delivered. For a user who may only read, what counts
   * as settled may be old.
   *
   * @return the time to go on from later, if the sink took everything: of what lies before it all
   *     that exists was delivered, marked as settled, and nothing else. What was delivered from it
   *     on may lack messages that were written meanwhile, and may be REJECTED yet unless it was
   *     marked as settled. {@link Long#MIN_VALUE} if nothing was settled
   * @throws dev.cinch.bag.format.ForeignEntryException at the end, when all else was delivered, if
   *     something in an open bucket, or for one, is neither file nor directory (rule N7)
   */
  @CanIgnoreReturnValue
  public long live(long from, long to, MessageSink sink, Objection objection) throws IOException {
    return read(cursor(from, to, true, objection), sink).whole();
  }
}
