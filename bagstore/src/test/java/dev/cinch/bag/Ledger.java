package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * What the writers of a test were told, to be compared with what readers find: a COMMITTED message
 * is there exactly once, where its receipt says; a REJECTED one never; one whose writer stopped
 * before it was told, at most once; and nothing else. Thread-safe.
 */
public final class Ledger {
  private final Map<String, Optional<Receipt>> told = new HashMap<>();

  /** Appends and notes the receipt, or that none came before the process ended. */
  public Receipt append(LogWriter writer, String text) throws Exception {
    return append(writer, text, text.getBytes(StandardCharsets.UTF_8));
  }

  public Receipt append(LogWriter writer, String text, byte[] payload) throws Exception {
    note(text, Optional.empty());
    Receipt receipt = writer.append(payload);
    note(text, Optional.of(receipt));
    return receipt;
  }

  /** As {@link #append}; true if the process lived on. */
  public boolean tryAppend(LogWriter writer, String text, byte[] payload) throws Exception {
    try {
      append(writer, text, payload);
      return true;
    } catch (FaultyFs.Crash e) {
      return false;
    }
  }

  private synchronized void note(String text, Optional<Receipt> receipt) {
    told.put(text, receipt);
  }

  /** A message as a reader found it. */
  public record Found(long timestamp, String file, long position, String text) {}

  /** Everything settled, as a new reader finds it. */
  public static List<Found> settled(Log log) throws Exception {
    var found = new ArrayList<Found>();
    settled(log, found::add);
    return found;
  }

  /** As {@link #settled(Log)}, one after the other. */
  public static void settled(Log log, Predicate<Found> found) throws Exception {
    new LogReader(log.context())
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m ->
                found.test(
                    new Found(m.timestamp(), m.file() + "", m.position(), text(m.payload()))),
            (m, f, why) -> {});
  }

  /** What everything says, settled or not, as a new reader finds it. */
  public static List<String> live(Log log) throws IOException {
    var found = new ArrayList<String>();
    log.reader()
        .live(Long.MIN_VALUE, Long.MAX_VALUE, m -> found.add(text(m.payload())), (m, f, why) -> {});
    return found;
  }

  /** A long payload begins with its text and a zero. */
  private static String text(byte[] payload) {
    int end = 0;
    while (end < payload.length && payload[end] != 0) {
      end++;
    }
    return new String(payload, 0, end, StandardCharsets.UTF_8);
  }

  /** A payload of a length that {@link #settled} gives back as its text. */
  public static byte[] payload(String text, int length) {
    byte[] head = text.getBytes(StandardCharsets.UTF_8);
    byte[] all = new byte[Math.max(length, head.length)];
    for (int i = head.length + 1; i < all.length; i++) {
      all[i] = (byte) (i * 31);
    }
    System.arraycopy(head, 0, all, 0, head.length);
    return all;
  }

  /** Compares what was told with what is settled. */
  public synchronized void check(List<Found> found) {
    var seen = new HashMap<String, Found>();
    long before = Long.MIN_VALUE;
    for (Found f : found) {
      assertTrue(told.containsKey(f.text()), () -> "nobody appended " + f);
      assertEquals(null, seen.put(f.text(), f), () -> "twice: " + f);
      assertTrue(f.timestamp() >= before, () -> "out of order: " + f);
      before = f.timestamp();
    }
    told.forEach(
        (text, receipt) -> {
          Found f = seen.get(text);
          if (receipt.isPresent() && receipt.get() instanceof Receipt.Committed c) {
            assertEquals(new Found(c.timestamp(), c.file() + "", c.position(), text), f, "lost");
          } else if (receipt.isPresent()) {
            assertEquals(null, f, "exists though " + receipt.get());
          }
        });
  }

  public synchronized int count(Class<? extends Receipt> kind) {
    return (int) told.values().stream().filter(r -> r.filter(kind::isInstance).isPresent()).count();
  }
}
