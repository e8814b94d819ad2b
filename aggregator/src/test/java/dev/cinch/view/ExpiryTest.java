package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Messages;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What expires, and what everyone sees then: rule R4. */
class ExpiryTest {
  /** Of each record, and so of each segment. */
  private static final int MESSAGES = 5;

  /** So many segments, all behind a checkpoint and long past. */
  private static Rig retired(long seed, int segments) throws Exception {
    Rig rig = rig(seed, segments);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    new Retention(open(rig), HOUR).run();
    return rig;
  }

  private static Expiry.Plan expire(Log log) throws IOException {
    return new Expiry(log, HOUR).run(path -> {});
  }

  private static List<Finding> verify(Rig rig) throws IOException {
    return rig.damage(rig.disk.view(Rig.ALICE));
  }

  private static List<String> salvage(Rig rig) throws IOException {
    var found = new ArrayList<String>();
    Salvage.run(
        PosixStore.unread(rig.disk.view(Rig.ALICE), rig.root),
        new StoreLayout(rig.root).log(Rig.JOBS),
        new SalvageSink() {
          @Override
          public void message(Salvaged m) {
            found.add(m.timestamp() + " " + m.file() + " " + m.position());
          }

          @Override
          public void left(SalvageSink.Kind kind, Name path, long offset, long length, String why) {
            found.add("left " + path + ": " + why);
          }
        });
    return found;
  }

  private static List<String> segments(Log log) throws IOException {
    return PosixStore.of(log.context().store().storage())
        .fs()
        .list(log.context().layout().segments().path())
        .stream()
        .filter(n -> n.length() == 10)
        .sorted()
        .toList();
  }

  @Test
  void r4_whatExpiredIsGoneForEveryReaderAndNothingElse() throws Exception {
    Rig rig = retired(1, 4);
    Lines.write(rig, MESSAGES, 5); // in buckets
    Log log = open(rig);
    List<String> all = Lines.settled(log);
    List<String> places = salvage(rig);
    Expiry.Plan plan = expire(log);
    assertEquals(3, plan.segments());
    assertTrue(plan.moves());
    List<String> rest = all.subList(3 * MESSAGES, all.size());
    assertEquals(List.of("0000000004"), segments(log));
    assertEquals(rest, Lines.settled(log));
    assertEquals(rest, Lines.settled(log, Lines.MIN + 1, Lines.MAX));
    assertEquals(List.of(), Lines.settled(log, Lines.MIN, plan.before()));
    assertEquals(rest, Lines.settled(log, plan.before(), Lines.MAX));
    assertEquals(rest.subList(0, MESSAGES), Lines.segments(log));
    assertEquals(places.subList(3 * MESSAGES, places.size()), salvage(rig));
    assertEquals(plan.before(), log.reader().expired());
    assertEquals(List.of(), verify(rig));
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    assertEquals(rest.size(), LeaseAuditor.audit(store).messages());
    assertEquals(0, LeaseAuditor.audit(store).violationCount());
    // Everything goes on.
    assertFalse(expire(log).moves());
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    new Retention(log, HOUR).run();
    assertEquals(rest, Lines.settled(log));
    assertEquals(1, expire(log).segments());
    assertEquals(rest.subList(MESSAGES, rest.size()), Lines.settled(log));
    assertEquals(List.of(), verify(rig));
  }

  @Test
  void r4_nothingGoesBeforeItsTime() throws Exception {
    Rig rig = rig(2, 3);
    aggregate(rig);
    rig.time.advanceMs(3_500_000);
    Log log = open(rig);
    new Retention(log, HOUR.minusMinutes(30)).run();
    assertFalse(expire(log).moves());
    assertEquals(3, segments(log).size());
    assertEquals(
        0,
        PosixStore.of(log.context().store().storage())
            .fs()
            .list(log.context().layout().checkpoints().path())
            .stream()
            .filter(n -> n.startsWith("floor"))
            .count());
    assertThrows(IllegalArgumentException.class, () -> new Expiry(log, HOUR.negated()));
  }

  @Test
  void r4_whatNoCheckpointCoversStaysAndIsTold() throws Exception {
    Rig rig = rig(3, 3);
    Log log = open(rig);
    rig.time.advanceMs(7_200_000);
    assertTrue(expire(log).blocked().isEmpty()); // there is no segment yet
    aggregate(rig);
    Expiry.Plan plan = expire(log);
    assertFalse(plan.moves());
    assertTrue(plan.blocked().isPresent());
    assertEquals(3, segments(log).size());
  }

  @Test
  void r4_theLastSegmentGoesBehindOneOfIdleTime() throws Exception {
    Rig rig = retired(6, 3);
    Log log = open(rig);
    expire(log);
    assertEquals(List.of("0000000003"), segments(log));
    assertFalse(new Expiry(log, HOUR).runThroughLast(path -> {}).moves()); // nothing is behind it
    HorizonChain.Link unused =
        log.horizon().advance(log.horizon().reachable(), OptionalLong.of(rig.time.wallNanos()));
    Expiry.Plan plan = new Expiry(log, HOUR).runThroughLast(path -> {});
    assertTrue(plan.moves());
    assertEquals(List.of("0000000004"), segments(log));
  }

  @Test
  void aPlanChangesNothing() throws Exception {
    Rig rig = retired(4, 3);
    Log log = open(rig);
    List<Path> before = files(log, log.context().layout().root().path());
    var named = new ArrayList<Name>();
    Expiry.Plan plan = new Expiry(log, HOUR).plan(named::add);
    assertEquals(2, named.size());
    assertEquals(before, files(log, log.context().layout().root().path()));
    assertEquals(plan, expire(log));
  }

  @Test
  void r4_theFloorLastsBeforeAnythingGoes() throws Exception {
    Rig rig = retired(5, 3);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    boolean[] forced = {false};
    faulty.before(
        op -> {
          Path in = op.path().getParent();
          if (op.kind() == Kind.UNLINK && log.context().layout().segments().path().equals(in)) {
            boolean temporary = op.path().getFileName().toString().startsWith("tmp-");
            assertTrue(forced[0] || temporary, "" + op);
          }
          forced[0] |=
              op.kind() == Kind.FORCE_DIRECTORY
                  && op.path().equals(log.context().layout().checkpoints().path())
                  && faulty.trace().stream().anyMatch(o -> o.is(Kind.LINK, "floor-0000000002"));
        });
    assertEquals(2, expire(log).segments());
    assertTrue(forced[0]);
  }

  /**
   * Killed at any operation, or failed: before the floor nothing changed, behind it all is gone.
   */
  @ParameterizedTest
  @Tag("share")
  @EnumSource(Fault.class)
  void r4_stoppedAnywhere(Fault fault) throws Exception {
    for (int k = 1 + Share.first(5); ; k += Share.step(5)) {
      Rig rig = retired(6, 3);
      List<String> all = Lines.settled(open(rig));
      List<String> rest = all.subList(2 * MESSAGES, all.size());
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      faulty.arm(k, fault);
      try {
        expire(log);
      } catch (IOException | FaultyFs.Crash e) {
        // What the process did not survive, the next one finishes.
      }
      if (!faulty.fired()) {
        assertTrue(k > 10, "some operations");
        return;
      }
      if (fault.crashes() && k % 2 == 0) {
        rig.disk.powerCut();
      }
      Log next = open(rig);
      boolean published = next.reader().expired() > Long.MIN_VALUE;
      assertEquals(published ? rest : all, Lines.settled(next), fault + " at " + k);
      assertEquals(List.of(), verify(rig), fault + " at " + k);
      expire(next);
      assertEquals(rest, Lines.settled(next), fault + " at " + k);
      assertEquals(List.of("0000000003"), segments(next));
      assertEquals(List.of(), verify(rig));
    }
  }

  /** A read that has begun is told from when on messages are kept; all that it gave stands. */
  @Test
  void r4_aReadUnderWhichItExpires() throws Exception {
    for (int at = 0; at < 3 * MESSAGES; at++) {
      Rig rig = retired(7, 3);
      Log log = open(rig);
      List<String> all = Lines.settled(log);
      var lines = new ArrayList<String>();
      int stop = at;
      MessageSink sink =
          m -> {
            if (lines.size() == stop) {
              expire(log);
            }
            return lines.add(Lines.line(m));
          };
      if (at < MESSAGES) {
        var told =
            assertThrows(
                ExpiredException.class,
                () -> log.reader().settled(Lines.MIN, Lines.MAX, sink, (m, file, why) -> {}));
        assertEquals(all.subList(0, MESSAGES), lines, "of the segment that was open");
        assertEquals(log.reader().expired(), told.before());
        assertTrue(
            requireNonNull(told.getMessage()).endsWith(" --from " + IsoTime.text(told.before())));
        assertEquals(
            all.subList(2 * MESSAGES, all.size()), Lines.settled(log, told.before(), Lines.MAX));
      } else {
        log.reader().settled(Lines.MIN, Lines.MAX, sink, (m, file, why) -> {});
        assertEquals(all, lines);
      }
    }
  }

  /** What goes on with an earlier read has a hole also where it gave nothing yet. */
  @Test
  void r4_aReadThatNeedsAllFailsWhereSomeExpired() throws Exception {
    Rig rig = retired(7, 3);
    Log log = open(rig);
    Expiry.Plan plan = expire(log);
    assertTrue(plan.moves());
    var lines = new ArrayList<String>();
    var all =
        new LogReader.Objection() {
          @Override
          public void ignored(Message message, Name file, String why) {}

          @Override
          public boolean needsAll() {
            return true;
          }
        };
    LogReader reader = log.reader();
    var told =
        assertThrows(
            ExpiredException.class,
            () -> reader.settled(plan.before() - 1, Lines.MAX, m -> lines.add(Lines.line(m)), all));
    assertEquals(plan.before(), told.before());
    assertEquals(List.of(), lines);
    reader.settled(plan.before(), Lines.MAX, m -> lines.add(Lines.line(m)), all);
    assertEquals(Lines.settled(log), lines);
  }

  /** What expires while somebody looks at what he has published is no segment that differs. */
  @Test
  void r4_whoPublishesASegmentThatExpiresAtOnce() throws Exception {
    boolean more = true;
    for (int k = 1; more; k++) {
      Rig rig = rig(8, 3);
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log slow = rig.open(faulty);
      int at = k;
      int[] opened = {0};
      faulty.before(
          op -> {
            boolean first =
                op.kind() == Kind.READ
                    && op.path().equals(slow.context().layout().segment(1).path());
            if (first && ++opened[0] == at) {
              Log others = open(rig);
              Aggregator.Result unused =
                  new Aggregator(others, new Aggregator.Limits(1, Long.MAX_VALUE)).run();
              rig.time.advanceMs(7_200_000);
              new Retention(others, HOUR).run();
              assertTrue(expire(others).segments() > 0);
            }
          });
      Aggregator.Result unused =
          new Aggregator(slow, new Aggregator.Limits(1, Long.MAX_VALUE)).run();
      more = opened[0] >= at;
      assertEquals(List.of(), verify(rig));
    }
  }

  /** An iterator ends there. */
  @Test
  void r4_anIteratorThatMessagesExpireUnder() throws Exception {
    for (boolean follow : new boolean[] {false, true}) {
      Rig rig = retired(7, 3);
      Log log = open(rig);
      Lines.write(rig, MESSAGES, 5);
      aggregate(rig);
      Lines.write(rig, MESSAGES, 5);
      aggregate(rig);
      new Retention(log, Duration.ZERO).run();
      try (Messages all =
          follow ? log.follow(Instant.EPOCH) : log.messages(Instant.EPOCH, Instant.MAX)) {
        StoredMessage unused = all.next(); // the rest of its segment is open, and stays so
        rig.time.advanceMs(7_200_000);
        new Expiry(log, Duration.ZERO).run(path -> {});
        var thrown = assertThrows(UncheckedIOException.class, () -> all.forEachRemaining(m -> {}));
        long before = ((ExpiredException) requireNonNull(thrown.getCause())).before();
        assertFalse(all.hasNext());
        var rest = new ArrayList<StoredMessage>();
        log.messages(Instant.EPOCH.plusNanos(before), Instant.MAX).forEachRemaining(rest::add);
        assertEquals(MESSAGES, rest.size());
      }
    }
  }

  private static void replace(Log log, Path path, byte[] bytes) throws IOException {
    StoreFs fs = PosixStore.of(log.context().store().storage()).fs();
    fs.unlink(path);
    try (StoreFile out = fs.create(path, 0664)) {
      out.write(ByteBuffer.wrap(bytes));
    }
  }

  @Test
  void r4_aFloorThatWasEditedOrIsMissingIsDamage() throws Exception {
    Rig rig = retired(8, 4);
    Log log = open(rig);
    List<String> all = Lines.settled(log);
    Expiry.Plan plan = expire(log);
    Floor f = new HorizonChain(log.context()).floor();
    assertEquals(3, f.segment());
    assertEquals(plan.before(), f.to());
    Path path = log.context().layout().floor(3).path();
    for (Floor bad :
        List.of(
            new Floor(f.log(), 3, f.to() - 1, 3, f.messages(), f.bytes()),
            new Floor(f.log(), 3, f.to() + 1, 3, f.messages(), f.bytes()),
            new Floor(f.log(), 3, Long.MAX_VALUE, 3, f.messages(), f.bytes()),
            new Floor(f.log(), 3, Long.MIN_VALUE, 3, f.messages(), f.bytes()),
            new Floor(f.log(), 3, f.to(), 4, f.messages(), f.bytes()),
            new Floor(f.log(), 3, f.to(), 3, f.messages() + 1, f.bytes()),
            new Floor(f.log(), 3, f.to(), 3, f.messages(), f.bytes() + 1),
            new Floor(f.log(), 2, f.to(), 3, f.messages(), f.bytes()),
            new Floor(
                dev.cinch.lease.Id.parse("0".repeat(32)), 3, f.to(), 3, f.messages(), f.bytes()))) {
      replace(log, path, bad.encode());
      assertThrows(DamagedException.class, () -> Lines.settled(log), bad.toString());
      assertThrows(DamagedException.class, () -> expire(log), bad.toString());
      assertFalse(verify(rig).isEmpty(), bad.toString());
    }
    replace(log, path, f.encode());
    assertEquals(all.subList(3 * MESSAGES, all.size()), Lines.settled(log));
    assertEquals(List.of(), verify(rig));
    Path beyond = log.context().layout().floor(4).path();
    try (StoreFile out = PosixStore.of(log.context().store().storage()).fs().create(beyond, 0664)) {
      out.write(
          ByteBuffer.wrap(
              new Floor(f.log(), 4, Long.MAX_VALUE, 4, f.messages(), f.bytes()).encode()));
    }
    assertThrows(DamagedException.class, () -> Lines.settled(log), "all expired");
    assertFalse(verify(rig).isEmpty());
    PosixStore.of(log.context().store().storage()).fs().unlink(beyond);
    PosixStore.of(log.context().store().storage()).fs().unlink(path);
    assertThrows(DamagedException.class, () -> Lines.settled(log), "no floor");
    assertFalse(verify(rig).isEmpty());
  }
}
