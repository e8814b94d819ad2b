package dev.cinch.view;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Writes messages, and renders what readers see so that two readings can be compared. */
final class Lines {
  static final long MIN = Long.MIN_VALUE;
  static final long MAX = Long.MAX_VALUE;

  private Lines() {}

  /** Everything about a message. */
  static String line(Message m) {
    return m.timestamp()
        + " "
        + m.file()
        + " "
        + m.position()
        + " "
        + m.leases().size()
        + " "
        + m.settled()
        + " "
        + new String(m.payload(), StandardCharsets.UTF_8);
  }

  static List<String> settled(Log log, long from, long to) throws IOException {
    var lines = new ArrayList<String>();
    log.reader()
        .settled(
            from,
            to,
            true,
            m -> lines.add(line(m)),
            (m, file, why) -> lines.add("ignored " + line(m) + why));
    return lines;
  }

  static List<String> settled(Log log) throws IOException {
    return settled(log, MIN, MAX);
  }

  /** All messages, as if they were settled. */
  static List<String> live(Log log) throws IOException {
    var lines = new ArrayList<String>();
    long unused =
        log.reader()
            .live(MIN, MAX, m -> lines.add(line(m).replace(" false ", " true ")), (m, f, w) -> {});
    return lines;
  }

  /** What stands in segments, whether a checkpoint names them or not. */
  static List<String> segments(Log log) throws IOException {
    var lines = new ArrayList<String>();
    long last = new Segments(log.context()).last(true).orElse(0);
    for (long n = new HorizonChain(log.context()).floor().segment() + 1; n <= last; n++) {
      try (SegmentReader segment = SegmentReader.open(log.context(), n)) {
        SegmentCursor m = segment.messages(MIN, MAX);
        while (m.next()) {
          lines.add(line(m));
        }
      }
    }
    return lines;
  }

  /** Two writers append by turns; then it is settled, as one record. */
  static void write(Rig rig, int messages, int size) throws Exception {
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    try (LogWriter a = log.writer(Durability.CLOSE);
        LogWriter b = rig.open(rig.disk.view(Rig.BOB)).writer(Durability.SYNC)) {
      for (int i = 0; i < messages; i++) {
        append(i % 3 == 1 ? b : a, "message " + i + " " + ".".repeat(size));
      }
    }
    rig.settle(log);
    rig.disk.forceAll();
  }

  static void append(LogWriter writer, String text) throws Exception {
    Receipt receipt = writer.append(text.getBytes(StandardCharsets.UTF_8));
    if (!(receipt instanceof Receipt.Committed)) {
      throw new AssertionError(receipt.toString());
    }
  }

  /** Removes a segment, as if it had never been published. */
  static void forget(Log log, long number) throws IOException {
    PosixStore.of(log.context().store().storage())
        .fs()
        .unlink(log.context().layout().segment(number).path());
  }
}
