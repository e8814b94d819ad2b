package dev.cinch.cli.serve;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Words;
import dev.cinch.bag.store.StoreTimeSource;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.time.BoundSource;
import dev.cinch.lease.time.ChronySource;
import dev.cinch.lease.time.MeasuredTime;
import dev.cinch.lease.time.RoughtimeSource;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Where {@code cinch serve} has the time from. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServeTime {
  private static final String CHRONY = "chrony";
  private static final String STORE = "store";
  private static final String ROUGHTIME = "roughtime:";

  /** How often the sources are asked, nanoseconds. */
  private static final long EVERY = 16_000_000_000L;

  private static final Duration PATIENCE = Duration.ofSeconds(3);

  private List<RoughtimeSource.Server> servers = List.of();

  @Option(
      names = "--time-source",
      paramLabel = "SOURCE",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description =
          "Whom to ask for the time and how far off it may be: chrony (this machine's NTP daemon),"
              + " store (the clock of its storage), or roughtime:HOST:PORT=KEY. May be repeated."
              + " Without any, this machine's clock is assumed to be right within a second.")
  List<String> named = List.of();

  void check(boolean hasStore) {
    try {
      servers =
          named.stream()
              .filter(name -> name.startsWith(ROUGHTIME))
              .map(name -> RoughtimeSource.Server.parse(name.substring(ROUGHTIME.length())))
              .toList();
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()), e);
    }
    for (String name : named) {
      if (!name.equals(CHRONY) && !name.equals(STORE) && !name.startsWith(ROUGHTIME)) {
        throw new Misuse(
            "--time-source is chrony, store, or roughtime:HOST:PORT=KEY, not "
                + OneLine.of(name, 80));
      }
    }
    if (named.contains(STORE) && !hasStore) {
      throw new Misuse("--time-source store goes with --store");
    }
  }

  /**
   * Asks the sources, and goes on asking them in a thread.
   *
   * @param store null without one
   * @throws IOException if this machine's clock is not what they say
   */
  TimeBounds bounds(Io io, TimeSource time, @Nullable Store store) throws IOException {
    if (named.isEmpty()) {
      return TimeBounds.ASSUMED;
    }
    var sources = new ArrayList<BoundSource>();
    if (named.contains(CHRONY)) {
      sources.add(new ChronySource(time));
    }
    if (named.contains(STORE) && store != null) {
      sources.add(new StoreTimeSource(store.context()));
    }
    servers.forEach(server -> sources.add(new RoughtimeSource(time, PATIENCE, server)));
    var measured = new MeasuredTime(time, sources);
    measured.refresh();
    long wall = time.wallNanos();
    requireClock(measured.at(wall, time.monotonicNanos()), wall);
    for (String problem : measured.problems()) {
      io.say("cinch serve", "time source: " + problem);
    }
    var thread = new Thread(() -> refresh(measured, time), "cinch-time-sources");
    thread.setDaemon(true);
    thread.start();
    return measured;
  }

  private static void requireClock(TimeBound bound, long wall) throws IOException {
    TimeBound allowed = bound.wider(TimeBounds.ASSUMED_NANOS);
    if (bound.kind() == TimeBound.Kind.MEASURED && !allowed.contains(wall)) {
      long off = wall - bound.midpoint();
      throw new IOException(
          "this machine's clock is "
              + Words.span(off)
              + (off > 0 ? " ahead of" : " behind")
              + " its time sources: set the clock (NTP)");
    }
  }

  private static void refresh(MeasuredTime measured, TimeSource time) {
    try {
      while (true) {
        time.sleepNanos(EVERY);
        measured.refresh();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
