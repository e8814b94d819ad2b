package dev.cinch.cli.append;

import dev.cinch.bag.Log;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What stands in a log under leases of some names, and is settled. Not thread-safe. */
final class EarlierMessages implements LogReader.Objection {
  private final Log log;
  private final Set<LeaseName> names;
  private final long from;
  private final long to;
  private final boolean known;
  private @Nullable List<SignedWitness> last;
  private boolean lastHas;

  /**
   * @param names a message was written under all of them
   * @param from the first time, nanoseconds since the Unix epoch
   * @param to the end of the time, through which the log is settled
   * @param known whether the lease service knows that somebody may have had the leases before;
   *     where it does not, only a restored store has any of them, above all that expired
   */
  EarlierMessages(Log log, Set<LeaseName> names, long from, long to, boolean known) {
    this.log = log;
    this.names = Set.copyOf(names);
    this.from = from;
    this.to = to;
    this.known = known;
  }

  /**
   * Gives each of them in order.
   *
   * @throws Failure.Refusal if some that may have been among them expired
   */
  void each(MessageSink sink) throws IOException {
    if (from < to) {
      try {
        log.reader().settled(from, to, true, m -> !has(m) || sink.accept(m), this);
      } catch (ExpiredException e) {
        throw new Failure.Refusal(
            "messages before %s expired, and some may be of this input: say with --since when it was begun"
                .formatted(Moment.text(e.before())));
      }
    }
  }

  private boolean has(Message m) {
    List<SignedWitness> leases = m.leases(); // one list for all of a batch
    if (leases != last) {
      last = leases;
      lastHas =
          leases.stream().map(s -> s.witness().name()).filter(names::contains).distinct().count()
              == names.size();
    }
    return lastHas && m.permitted();
  }

  @Override
  public void ignored(Message message, Name file, String why) {
    // No lease permits it, so it is nobody's.
  }

  @Override
  public boolean needsAll() {
    return known;
  }
}
