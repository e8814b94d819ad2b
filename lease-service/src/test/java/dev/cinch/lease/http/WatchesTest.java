package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.memory.Rig;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What those who watch are told; timers are due, and tasks run, when a test says so. */
final class WatchesTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Rig rig = new Rig();
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final List<Runnable> timers = new ArrayList<>();
  private final Watches watches =
      new Watches(
          2,
          new WaitingRoom.Loop() {
            @Override
            public void run(Runnable task) {
              tasks.add(task);
            }

            @Override
            public Runnable after(long ms, Runnable task) {
              timers.add(task);
              return () -> timers.remove(task);
            }
          },
          new Watches.Look() {
            @Override
            public void page(
                String prefix, Optional<LeaseName> after, Consumer<List<LeaseInfo>> told) {
              tasks.add(() -> told.accept(found(prefix, after)));
            }

            @Override
            public void show(List<LeaseName> names, Consumer<List<LeaseInfo>> told) {
              tasks.add(() -> told.accept(names.stream().flatMap(n -> known(n).stream()).toList()));
            }

            @Override
            public void now(Consumer<Long> told) {
              tasks.add(() -> told.accept(rig.service.now()));
            }
          });

  /** One who reads when a test says so. */
  private static final class Reader implements Watches.Sink {
    final List<String> said = new ArrayList<>();
    boolean full;
    boolean ended;

    @Override
    public boolean isFull() {
      return full;
    }

    @Override
    public void write(String text) {
      said.add(text);
    }

    @Override
    public void end() {
      ended = true;
    }

    /** Events and names, since the last time. */
    String take() throws Exception {
      var words = new ArrayList<String>();
      for (String text : said) {
        if (text.startsWith(":")) {
          words.add("-");
          continue;
        }
        JsonNode data = JSON.readTree(text.substring(text.indexOf("data: ") + 6));
        String event = data.get("event").asText();
        assertTrue(text.startsWith("event: " + event + "\n") && text.endsWith("\n\n"), text);
        JsonNode lease = data.get("lease");
        words.add(lease == null ? event : event + " " + lease.get("witness").get("name").asText());
      }
      said.clear();
      return String.join(", ", words);
    }
  }

  private Watches.Watcher watch(Reader reader, Set<String> names, String... prefixes) {
    var watcher = new Watches.Watcher(names, List.of(prefixes), reader);
    assertTrue(watches.add(watcher));
    run();
    return watcher;
  }

  private void run() {
    while (!tasks.isEmpty()) {
      tasks.remove().run();
    }
  }

  private void sweep() {
    List<Runnable> due = List.copyOf(timers);
    timers.clear();
    due.forEach(Runnable::run);
    run();
  }

  private void listen() {
    assertTrue(rig.service.listen(watches));
  }

  @Test
  void whatIsHeldIsToldFirstAndThenEachChangeButNoRenewal() throws Exception {
    listen();
    Grant a = rig.acquire("a/1", "a/2", "a/3");
    Grant released = rig.acquire("a/0");
    rig.service.release(released.id(), LeaseReport.NOTHING);
    Grant b = rig.acquire("b");
    var reader = new Reader();
    var unused = watch(reader, Set.of("b", "c"), "a/");
    assertEquals("held b, held a/1, held a/2, held a/3, synced", reader.take());
    Grant renewed = rig.service.renew(a.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    run();
    assertEquals("", reader.take());
    rig.service.release(b.id(), LeaseReport.NOTHING);
    Grant other = rig.acquire("other");
    Grant next = rig.acquire("b", "c");
    rig.service.release(renewed.id(), LeaseReport.NOTHING);
    run();
    assertEquals(
        "released b, granted b, granted c, released a/1, released a/2, released a/3",
        reader.take());
    assertEquals(1, other.witnesses().size());
    assertEquals(2, next.witnesses().size());
  }

  @Test
  void anEndThatNobodyBringsAboutIsToldOnceWhenItsTimeIsOver() throws Exception {
    listen();
    Grant a = rig.acquire("a");
    var reader = new Reader();
    var unused = watch(reader, Set.of(), "");
    rig.time.advanceMs(Rig.LEASE_MS - 1);
    Grant renewed = rig.service.renew(a.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    rig.time.advanceMs(2);
    sweep();
    assertEquals("held a, synced", reader.take()); // it was prolonged
    rig.time.advanceMs(Rig.LEASE_MS);
    sweep();
    sweep();
    assertEquals("expired a", reader.take());
    Grant again = rig.acquire("a");
    run();
    assertEquals("granted a", reader.take());
    assertEquals(renewed.id(), a.id());
    assertEquals(1, again.witnesses().size());
  }

  @Test
  void oneThatDoesNotReadIsToldSoAndWhatIsHeldThenAndNothingIsKeptForIt() throws Exception {
    listen();
    var slow = new Reader();
    var quick = new Reader();
    Watches.Watcher watcher = watch(slow, Set.of(), "");
    var unused = watch(quick, Set.of(), "");
    assertEquals("synced", slow.take());
    assertEquals("synced", quick.take());
    slow.full = true;
    Grant a = rig.acquire("a");
    Grant b = rig.acquire("b");
    rig.service.release(a.id(), LeaseReport.NOTHING);
    run();
    assertEquals("granted a, granted b, released a", quick.take());
    slow.full = false;
    watches.drained(watcher);
    run();
    assertEquals("lagged, held b, synced", slow.take());
    rig.service.release(b.id(), LeaseReport.NOTHING);
    run();
    assertEquals("released b", slow.take());
  }

  /** It goes on from page to page only as it reads. */
  @Test
  void changesWhileASnapshotIsReadAreNotLost() throws Exception {
    listen();
    Grant held = rig.acquire("a", "b", "c", "d", "e");
    var reader = new Reader();
    var watcher = new Watches.Watcher(Set.of(), List.of(""), reader);
    assertTrue(watches.add(watcher));
    tasks.remove().run(); // the first page
    assertEquals("held a, held b", reader.take());
    reader.full = true;
    tasks.remove().run(); // the second one is there
    rig.service.release(held.id(), LeaseReport.NOTHING);
    run();
    assertEquals("held c, held d", reader.take()); // what was found at once, and no more
    reader.full = false;
    watches.drained(watcher);
    run();
    assertEquals("synced, lagged, synced", reader.take());
  }

  @Test
  void thoseAboveTheBoundAndThoseOfAServerThatEndsAreRefused() throws Exception {
    var first = new Reader();
    Watches.Watcher watcher = watch(first, Set.of("a"));
    var unused = watch(new Reader(), Set.of("a"));
    var third = new Watches.Watcher(Set.of("a"), List.of(), new Reader());
    assertFalse(watches.add(third));
    watches.leave(watcher);
    assertTrue(watches.add(third));
    watches.end();
    assertEquals(0, watches.size());
    assertFalse(watches.add(watcher));
    assertFalse(watches.watches("a"));
  }

  @Test
  void oneThatHearsNothingIsToldThatTheServerLivesAndOneThatTakesNothingIsEnded() throws Exception {
    var quiet = new Reader();
    var gone = new Reader();
    var unused = watch(quiet, Set.of("a"));
    var alsoUnused = watch(gone, Set.of("a"));
    gone.full = true;
    for (int i = 0; i < Watches.STALLED_SWEEPS; i++) {
      assertFalse(gone.ended);
      sweep();
    }
    assertTrue(gone.ended);
    assertEquals("synced, -, -", quiet.take());
    assertEquals(1, watches.size());
  }

  private List<LeaseInfo> found(String prefix, Optional<LeaseName> after) {
    try {
      return rig.service.list(prefix, after, 2);
    } catch (LeaseUnavailableException e) {
      throw new AssertionError(e);
    }
  }

  private Optional<LeaseInfo> known(LeaseName name) {
    try {
      return rig.service.show(name);
    } catch (LeaseUnavailableException e) {
      throw new AssertionError(e);
    }
  }
}
