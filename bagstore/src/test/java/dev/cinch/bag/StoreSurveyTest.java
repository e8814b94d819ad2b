package dev.cinch.bag;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.TimeName;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What of a store needs somebody. */
final class StoreSurveyTest {
  private static final long LATE = StoreSurvey.LATE.toNanos();
  private static final long SECOND = 1_000_000_000;

  /** Further than it may be ahead. */
  private static final long BEHIND = 700;

  private final Rig rig;
  private final StoreFs fs;
  private final LogLayout jobs;

  StoreSurveyTest() throws IOException {
    rig = Rig.memory(1, Altered.with(StoreSettings.DEFAULT, "clockBehindMs", BEHIND));
    fs = rig.disk.view(Rig.ALICE);
    jobs = store(fs, rig.time).log(Rig.JOBS).context().layout();
  }

  private Store store(StoreFs of, TimeSource time) throws IOException {
    return Store.open(rig.root, rig.environment(of, time));
  }

  private StoreStatus status() throws IOException {
    return store(fs, rig.time).status();
  }

  /** Each problem as kind and log. */
  private static List<String> found(StoreStatus status) {
    return status.problems().stream()
        .map(p -> p.kind() + p.log().map(log -> " " + log).orElse(""))
        .toList();
  }

  private void append() throws Exception {
    try (LogWriter writer = store(fs, rig.time).log(Rig.JOBS).writer(Durability.SYNC)) {
      var unused = writer.append("a".getBytes(UTF_8));
    }
  }

  /** Moves the clock to where the open bucket could have been settled so long ago. */
  private void advanceToOverdue(long nanos) throws IOException {
    long due = status().logs().get(0).status().orElseThrow().open().get(0).end();
    long grace = StoreSettings.DEFAULT.graceNanos();
    rig.time.advanceNanos(due + grace + nanos - rig.time.wallNanos());
  }

  private void damage() throws IOException {
    rig.disk.put(jobs.record(1).path(), 40, new byte[16]);
  }

  @Test
  void aStoreThatIsWellHasNoProblem() throws Exception {
    append();
    rig.settle(rig.open(fs));
    StoreStatus status = status();
    assertEquals(List.of(), status.problems());
    assertEquals(Optional.empty(), status.worst());
    assertEquals(0, status.clockOffset().orElseThrow());
    assertEquals(List.of(Rig.JOBS), status.logs().stream().map(l -> l.name()).toList());
    assertEquals(1, status.logs().get(0).status().orElseThrow().messages());
  }

  @Test
  void aBucketThatIsOpenForTooLongMissesACloser() throws Exception {
    append();
    advanceToOverdue(LATE - SECOND);
    assertEquals(List.of(), found(status()));
    advanceToOverdue(LATE + SECOND);
    StoreStatus status = status();
    assertEquals(List.of("CLOSER jobs"), found(status));
    assertTrue(status.problems().get(0).message().contains("was due 3 min ago"));
    rig.settle(rig.open(fs));
    assertEquals(List.of(), found(status()));
  }

  @Test
  void anIntentThatIsOldIsThatOfACloserThatStopped() throws Exception {
    append();
    rig.settle(rig.open(fs));
    long reach = rig.time.wallNanos() / SECOND * SECOND - SECOND;
    fs.create(jobs.intents().resolve(TimeName.of(reach) + "-" + "0".repeat(32)).path(), 0664)
        .close();
    rig.time.advanceNanos(LATE - SECOND);
    assertEquals(List.of(), found(status()), "may be at work");
    rig.time.advanceNanos(2 * SECOND);
    assertEquals(List.of("INTENT jobs"), found(status()));
  }

  @Test
  void aClockMayBeOffAsFarAsTheStoreAllows() throws Exception {
    long ahead = StoreSettings.DEFAULT.clockAheadMs();
    for (long ms : new long[] {ahead - 1, 1 - BEHIND}) {
      StoreStatus status = store(fs, rig.time.skewed(ms * 1_000_000)).status();
      assertEquals(List.of(), found(status));
      assertEquals(ms, status.clockOffset().orElseThrow() / 1_000_000.0, 0.1);
      assertTrue(
          Math.abs(rig.time.wallNanos() - status.at()) < 1_000_000, "at is the filesystem's now");
    }
    for (long ms : new long[] {ahead + 1, -BEHIND - 1}) {
      Problem problem = store(fs, rig.time.skewed(ms * 1_000_000)).status().problems().get(0);
      assertEquals(Problem.Kind.CLOCK, problem.kind());
      assertTrue(problem.message().contains(ms > 0 ? " ahead of " : " behind "));
      assertTrue(problem.message().contains(" " + (ms > 0 ? ahead : BEHIND) + " ms"));
    }
  }

  @Test
  void whereTheDiskTakesNothingNoCloserIsMissed() throws Exception {
    append();
    advanceToOverdue(LATE + SECOND);
    for (String reason : List.of("No space left on device", "Read-only file system")) {
      var faulty = new FaultyFs(fs);
      Store store = store(faulty, rig.time);
      faulty.before(
          op -> {
            if (op.kind() == Kind.MKDIR) {
              throw new FileSystemException("" + op.path(), null, reason);
            }
          });
      StoreStatus status = store.status();
      assertEquals(List.of("DISK"), found(status), reason);
      assertTrue(status.clockOffset().isEmpty());
    }
  }

  @Test
  void aLogThatIsDamagedIsToldWithTheErrorAndKeepsNoOtherFromItsTurn() throws Exception {
    append();
    rig.settle(rig.open(fs));
    Log unused = store(fs, rig.time).createLog(new LogName("other"));
    damage();
    StoreStatus status = status();
    assertEquals(List.of("DAMAGE jobs"), found(status));
    assertEquals(List.of(false, true), readable(status));
    var e = assertInstanceOf(DamagedException.class, status.problems().get(0).cause().get());
    assertTrue(e.path().startsWith(jobs.root()));
  }

  private static List<Boolean> readable(StoreStatus status) {
    return status.logs().stream().map(l -> l.status().isPresent()).toList();
  }

  @Test
  void aLogThatFailsOtherwiseIsUnreadable() throws Exception {
    append();
    var faulty = new FaultyFs(fs);
    Store store = store(faulty, rig.time);
    var denied = new AccessDeniedException("" + jobs.buckets());
    faulty.before(
        op -> {
          if (op.path().startsWith(jobs.buckets().path())) {
            throw denied;
          }
        });
    StoreStatus status = store.status();
    assertEquals(List.of("UNREADABLE jobs"), found(status));
    assertEquals(List.of(false), readable(status));
    assertEquals(Optional.of(denied), status.problems().get(0).cause());
    assertEquals(jobs.buckets() + ": permission denied", status.problems().get(0).message());
  }

  @Test
  void theWorstComesFirstAlsoOfWhatOthersFound() throws Exception {
    append();
    rig.settle(rig.open(fs));
    Store off = store(fs, rig.time.skewed(3_600 * SECOND));
    assertEquals(Optional.of(Problem.Kind.CLOCK), off.status().worst());
    var gc = new Problem(Problem.Kind.GC, Rig.JOBS, "something is kept");
    damage();
    StoreStatus all = off.status().with(List.of(gc));
    assertEquals(List.of("DAMAGE jobs", "GC jobs", "CLOCK"), found(all));
    assertEquals(Optional.of(Problem.Kind.DAMAGE), all.worst());
  }

  @Test
  void aLogThatIsAskedForAndIsNotThereIsNoProblemOfTheStore() throws Exception {
    var survey = new StoreSurvey(store(fs, rig.time), StoreSurvey.LATE);
    var none = List.of(new LogName("none"));
    assertThrows(NoSuchLogException.class, () -> survey.look(none));
  }
}
