package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Words that threads add to one value through several registers, each once: what was answered has
 * to be there, what was refused must not, and nothing may be there twice. Thread-safe.
 */
final class Writings {
  private static final long LIMIT_SECONDS = 120;

  private final LeaseName name;

  /** So that what was refused once is no word of a later round. */
  private final AtomicInteger rounds = new AtomicInteger();

  final Set<String> written = ConcurrentHashMap.newKeySet();
  private final Set<String> refused = ConcurrentHashMap.newKeySet();
  final Set<String> unanswered = ConcurrentHashMap.newKeySet();

  Writings(LeaseName name) {
    this.name = name;
  }

  private static List<String> words(StateRegister.Found found) {
    return found
        .value()
        .map(value -> List.of(new String(value, US_ASCII).split(" ")))
        .orElse(List.of());
  }

  /** Tries to add a word. */
  boolean write(StateRegister register, String word) throws Exception {
    try {
      boolean unused =
          register
              .change(
                  name,
                  found -> {
                    List<String> words = words(found);
                    if (words.contains(word)) {
                      return Optional.empty();
                    }
                    var more = new ArrayList<>(words);
                    more.add(word);
                    return Optional.of(String.join(" ", more).getBytes(US_ASCII));
                  })
              .get(LIMIT_SECONDS, TimeUnit.SECONDS);
      written.add(word);
      return true;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnansweredException) {
        unanswered.add(word);
      } else if (e.getCause() instanceof LeaseRefusedException refusal) {
        assertEquals(Reason.NOT_YET, refusal.reason(), refusal.getMessage());
        refused.add(word);
      } else {
        throw e;
      }
      return false;
    }
  }

  /**
   * Has threads write until each has written so many words.
   *
   * @param meanwhile what happens while they do
   */
  void write(List<? extends StateRegister> registers, int threads, int words, Task meanwhile)
      throws Exception {
    String round = Integer.toString(rounds.incrementAndGet(), 36);
    var pool = Executors.newFixedThreadPool(threads);
    try {
      var running = new ArrayList<Future<?>>();
      for (int i = 0; i < threads; i++) {
        StateRegister register = registers.get(i % registers.size());
        String prefix = round + "." + Integer.toString(i, 36) + ".";
        running.add(
            pool.submit(
                () -> {
                  int done = 0;
                  for (int tries = 0; done < words; tries++) {
                    done += write(register, prefix + Integer.toString(tries, 36)) ? 1 : 0;
                  }
                  return null;
                }));
      }
      meanwhile.run();
      for (Future<?> one : running) {
        var unused = one.get(LIMIT_SECONDS, TimeUnit.SECONDS);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  /** Compares what is there with what was said. */
  void check(StateRegister register) throws Exception {
    List<String> words = words(register.look(name).get(LIMIT_SECONDS, TimeUnit.SECONDS));
    var there = new HashSet<>(words);
    assertEquals(words.size(), there.size(), "a word was written twice");
    assertTrue(there.containsAll(written), "a word was lost");
    for (String word : refused) {
      assertFalse(there.contains(word), word + " was refused, and is there");
    }
    there.removeAll(written);
    there.removeAll(unanswered);
    assertEquals(Set.of(), there, "nobody wrote these");
  }

  /** Something that may fail. */
  @FunctionalInterface
  interface Task {
    void run() throws Exception;
  }
}
