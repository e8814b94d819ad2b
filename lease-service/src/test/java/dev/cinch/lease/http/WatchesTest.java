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
  private boolean cutOff;
  private boolean silent;
  private final ArrayDeque<Runnable> unanswered = new ArrayDeque<>();
  private int looks;
  private final Watchers watches =
      new Watchers(
          2,
          "o",
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
          new Watchers.Look() {
            @Override
            public void page(
                String prefix,
                Optional<LeaseName> after,
                Consumer<List<LeaseInfo>> told,
                Consumer<String> failed) {
              tasks.add(
                  () -> {
                    if (cutOff) {
                      failed.accept("cut off");
                    } else {
                      told.accept(found(prefix, after));
                    }
                  });
            }

            @Override
            public void show(
                List<LeaseName> names, Consumer<List<LeaseInfo>> told, Consumer<String> failed) {
              looks++;
              (silent ? unanswered : tasks)
                  .add(
                      () -> {
                        if (cutOff) {
                          failed.accept("cut off");
                        } else {
                          told.accept(names.stream().flatMap(n -> known(n).stream()).toList());
                        }
                      });
            }

            @Override
            public void now(Consumer<Long> told) {
              tasks.add(() -> told.accept(rig.service.now()));
            }
          });

  /** One who reads when a test says so. */
  private static final class Reader implements Watchers.Sink {
    final List<String> said = new ArrayList<>();
    boolean full;
    boolean ended;
    String refused = "";
    String lastId = "";

    @Override
    public void refuse(String why) {
      refused = why;
    }

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
        int id = text.indexOf("\nid: ");
        if (id >= 0) {
          lastId = text.substring(id + 5, text.length() - 2);
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

  private Watchers.Watcher watch(Reader reader, Set<String> names, String... prefixes) {
    return watch(reader, "", names, prefixes);
  }

  private Watchers.Watcher watch(
      Reader reader, String since, Set<String> names, String... prefixes) {
    var watcher = new Watchers.Watcher(names, List.of(prefixes), since, reader);
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
    Watchers.Watcher watcher = watch(slow, Set.of(), "");
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
    var watcher = new Watchers.Watcher(Set.of(), List.of(""), "", reader);
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
    Watchers.Watcher watcher = watch(first, Set.of("a"));
    var unused = watch(new Reader(), Set.of("a"));
    var third = new Watchers.Watcher(Set.of("a"), List.of(), "", new Reader());
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
    for (int i = 0; i < Watchers.STALLED_SWEEPS; i++) {
      assertFalse(gone.ended);
      sweep();
    }
    assertTrue(gone.ended);
    assertEquals("synced, -, -", quiet.take());
    assertEquals(1, watches.size());
  }

  @Test
  void oneThatComesBackIsToldWhatItMissedAndThatThisWasAll() throws Exception {
    listen();
    Grant a = rig.acquire("a");
    var reader = new Reader();
    Watchers.Watcher watcher = watch(reader, Set.of("a", "b"));
    assertEquals("held a, synced", reader.take());
    watches.leave(watcher);
    rig.service.release(a.id(), LeaseReport.NOTHING);
    Grant b = rig.acquire("b", "c");
    run();
    var again = new Reader();
    watcher = watch(again, reader.lastId, Set.of("a", "b"));
    assertEquals("released a, granted b, synced", again.take());
    rig.service.release(b.id(), LeaseReport.NOTHING);
    run();
    assertEquals("released b", again.take());
    watches.leave(watcher);
    var third = new Reader();
    watcher = watch(third, "elsewhere-7, " + again.lastId, Set.of("a", "b"));
    assertEquals("synced", third.take());
  }

  @Test
  void oneThatExpiredMeanwhileIsAmongWhatWasMissed() throws Exception {
    listen();
    Grant a = rig.acquire("a");
    var reader = new Reader();
    Watchers.Watcher watcher = watch(reader, Set.of("a"));
    assertEquals("held a, synced", reader.take());
    watches.leave(watcher);
    rig.time.advanceMs(Rig.LEASE_MS);
    sweep();
    var again = new Reader();
    var unused = watch(again, reader.lastId, Set.of("a"));
    assertEquals("expired a, synced", again.take());
    assertEquals(1, a.witnesses().size());
  }

  @Test
  void oneThatCanNotBeToldWhatItMissedIsToldSo() throws Exception {
    listen();
    Grant held = rig.acquire("a");
    var reader = new Reader();
    Watchers.Watcher watcher = watch(reader, Set.of("a"));
    assertEquals("held a, synced", reader.take());
    watches.leave(watcher);
    for (String id : List.of("elsewhere-1", "o-", "o-x", "o-99", "o", "-")) {
      var other = new Reader();
      watches.leave(watch(other, id, Set.of("a")));
      assertEquals("lagged, held a, synced", other.take(), id);
    }
    var ofOthers = new Reader(); // what became of these nobody has remembered
    watches.leave(watch(ofOthers, reader.lastId, Set.of("a", "b")));
    assertEquals("lagged, held a, synced", ofOthers.take());
    watches.lost();
    run();
    var lost = new Reader();
    watches.leave(watch(lost, reader.lastId, Set.of("a")));
    assertEquals("lagged, held a, synced", lost.take());
    for (int i = 0; i < Watchers.REMEMBERED_SWEEPS; i++) {
      sweep();
    }
    var late = new Reader();
    watches.leave(watch(late, lost.lastId, Set.of("a")));
    assertTrue(late.take().startsWith("lagged, "));
    assertEquals(1, held.witnesses().size());
  }

  /** What is kept for those who went is bounded, in leases and in characters. */
  @Test
  void noMoreIsRememberedThanTheBounds() throws Exception {
    listen();
    var reader = new Reader();
    watches.leave(watch(reader, Set.of("a")));
    assertEquals("synced", reader.take());
    watches.leave(watch(new Reader(), Set.of("b")));
    watches.leave(watch(new Reader(), Set.of("c"))); // two may watch, so two are remembered
    assertFalse(watches.watches("a"));
    assertTrue(watches.watches("b"));
    var other = new Reader();
    Watchers.Watcher watcher = watch(other, Set.of("a"));
    assertEquals("synced", other.take());
    watches.leave(watcher);
    int changes = Watchers.HISTORY / 200;
    for (int i = 0; i < changes; i++) {
      Grant a = rig.acquire("a");
      rig.service.release(a.id(), LeaseReport.NOTHING);
      run();
    }
    var back = new Reader();
    watcher = watch(back, other.lastId, Set.of("a"));
    assertEquals("lagged, synced", back.take());
  }

  @Test
  void whereChangesWereMissedAllAreToldAndWhatIsHeldIsReadAnew() throws Exception {
    listen();
    Grant a = rig.acquire("a");
    var reader = new Reader();
    var unused = watch(reader, Set.of(), "");
    assertEquals("held a, synced", reader.take());
    cutOff = true;
    watches.lost();
    run();
    assertEquals("lagged", reader.take());
    sweep();
    sweep();
    cutOff = false;
    sweep();
    assertEquals("held a, synced", reader.take());
    assertEquals(1, a.witnesses().size());
  }

  @Test
  void whereOneCanNotBeToldWhatIsHeldItIsRefusedAtOnce() throws Exception {
    cutOff = true;
    var reader = new Reader();
    var unused = watch(reader, Set.of(), "");
    assertEquals("cut off", reader.refused);
    assertEquals(0, watches.size());
    assertEquals("", reader.take());
  }

  /** Else each second would add one that asks each second. */
  @Test
  void whatHasExpiredIsAskedForOnceAtATime() throws Exception {
    listen();
    Grant a = rig.acquire("a");
    var reader = new Reader();
    var unused = watch(reader, Set.of(), "");
    rig.time.advanceMs(Rig.LEASE_MS);
    silent = true;
    for (int i = 0; i < 5; i++) {
      sweep();
      assertEquals(1, looks);
    }
    silent = false;
    unanswered.forEach(Runnable::run);
    sweep();
    assertEquals("held a, synced, expired a", reader.take());
    assertEquals(1, a.witnesses().size());
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
