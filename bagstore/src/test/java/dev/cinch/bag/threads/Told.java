package dev.cinch.bag.threads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.SignedWitness;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What callers were told of their messages, to be compared with what is settled. Thread-safe. */
final class Told {
  /** What a caller knows of a message. */
  enum Fate {
    /** Its call has not come back. */
    CALLED,
    /** It was refused, or the call failed before it was on its way. */
    REFUSED,
    /** It is on its way. */
    ON_ITS_WAY,
    /** The writer failed, and nobody knows. */
    UNKNOWN,
    /** There is a receipt. */
    TOLD
  }

  private static final class Entry {
    final Log log;
    final String actor;
    final int length;
    Fate fate = Fate.CALLED;
    Receipt receipt;

    Entry(Log log, String actor, int length) {
      this.log = log;
      this.actor = actor;
      this.length = length;
    }
  }

  /** A message as a reader found it. */
  record Found(
      String text,
      byte[] payload,
      long timestamp,
      String file,
      long position,
      List<SignedWitness> leases) {
    static Found of(Message m) {
      byte[] payload = m.payload();
      int end = 0;
      while (end < payload.length && payload[end] != 0) {
        end++;
      }
      return new Found(
          new String(payload, 0, end, StandardCharsets.UTF_8),
          payload,
          m.timestamp(),
          m.file() + "",
          m.position(),
          m.leases());
    }
  }

  private final Map<String, Entry> entries = new LinkedHashMap<>();

  /** The bytes of a message. */
  static byte[] payload(String text, int length) {
    byte[] head = text.getBytes(StandardCharsets.UTF_8);
    byte[] all = Arrays.copyOf(head, Math.max(length, head.length));
    for (int i = head.length + 1; i < all.length; i++) {
      all[i] = (byte) (i * 31 + head.length);
    }
    return all;
  }

  synchronized void calls(Log log, String actor, String text, int length) {
    entries.put(text, new Entry(log, actor, length));
  }

  synchronized void is(String text, Fate fate) {
    Entry entry = entries.get(text);
    if (entry.fate != Fate.TOLD) {
      entry.fate = fate;
    }
  }

  synchronized void receipt(String text, Receipt receipt) {
    Entry entry = entries.get(text);
    if (entry.fate == Fate.TOLD) {
      assertEquals(entry.receipt, receipt, "another receipt for " + text);
    }
    entry.fate = Fate.TOLD;
    entry.receipt = receipt;
  }

  /** Those that must not be in a read that begins now. */
  synchronized Set<String> absent() {
    var absent = new HashSet<String>();
    entries.forEach(
        (text, e) -> {
          if (e.fate == Fate.REFUSED || e.receipt instanceof Receipt.Rejected) {
            absent.add(text);
          }
        });
    return absent;
  }

  synchronized int count(Class<? extends Receipt> kind) {
    return (int) entries.values().stream().filter(e -> kind.isInstance(e.receipt)).count();
  }

  synchronized int count(Fate fate) {
    return (int) entries.values().stream().filter(e -> e.fate == fate).count();
  }

  /**
   * Compares with all that is settled in a log.
   *
   * @param unknown whether writers may have failed
   */
  synchronized void check(Log log, List<Found> found, boolean unknown) {
    var seen = new HashMap<String, Found>();
    Found before = null;
    for (Found f : found) {
      Entry e = entries.get(f.text());
      assertTrue(e != null && e.log.id().equals(log.id()), () -> "nobody appended " + f);
      assertTrue(e.fate != Fate.REFUSED, () -> "was refused: " + f);
      assertTrue(Arrays.equals(payload(f.text(), e.length), f.payload()), () -> "bytes of " + f);
      assertTrue(seen.put(f.text(), f) == null, () -> "twice: " + f);
      if (before != null) {
        assertTrue(before.timestamp() < f.timestamp(), before + " before " + f);
      }
      before = f;
    }
    var last = new HashMap<String, Long>();
    entries.forEach(
        (text, e) -> {
          if (!e.log.id().equals(log.id())) {
            return;
          }
          Found f = seen.get(text);
          if (e.receipt instanceof Receipt.Committed c) {
            assertTrue(f != null, () -> "lost: " + text + " " + c);
            assertEquals(
                c.timestamp() + " " + c.file() + " " + c.position(),
                f.timestamp() + " " + f.file() + " " + f.position());
            assertTrue(c.bucket().contains(c.timestamp()), () -> "bucket of " + c);
            Long previous = last.put(e.actor, c.timestamp());
            assertTrue(previous == null || previous < c.timestamp(), () -> "out of order: " + text);
          } else if (e.receipt != null) {
            assertTrue(f == null, () -> "exists though REJECTED: " + text);
          } else {
            assertTrue(unknown || e.fate == Fate.REFUSED, () -> "no verdict: " + text);
          }
        });
  }

  /** What a log holds, as far as it is settled, or all of it. */
  static List<Found> read(Log log, boolean live) throws Exception {
    var found = new ArrayList<Found>();
    if (live) {
      log.reader()
          .live(Long.MIN_VALUE, Long.MAX_VALUE, m -> found.add(Found.of(m)), Told::objected);
    } else {
      log.reader()
          .settled(
              Long.MIN_VALUE, Long.MAX_VALUE, true, m -> found.add(Found.of(m)), Told::objected);
    }
    return found;
  }

  private static void objected(Message m, Name file, String why) {
    throw new AssertionError(file + ": " + why);
  }
}
