package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.store.StoreSettings.Leases;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Section 8, checks 2 to 4: leases that went on at later instances (rules L10 to L12). */
class ResumedLeaseAuditTest {
  @TempDir Path temp;

  private AuditStore s;
  private Log log;
  private LogWriter writer;

  @BeforeEach
  void open() throws Exception {
    s = new AuditStore(temp.resolve("store"), Leases.OPTIONAL);
    log = s.store.createLog(new LogName("jobs"));
    writer = s.writer(log);
  }

  private AuditReport audit() throws Exception {
    s.settle(log, s.clock.wallNanos() + SECOND);
    return LeaseAuditor.audit(s.store);
  }

  private void passes(int leases) throws Exception {
    AuditReport report = audit();
    assertEquals(List.of(), report.violations());
    assertEquals(leases, report.leases());
  }

  private void fails(Rule rule) throws Exception {
    AuditReport report = audit();
    assertTrue(report.violations().stream().anyMatch(v -> v.rule() == rule), report::toString);
  }

  private long inSeconds(long seconds) {
    return s.clock.wallNanos() + seconds * SECOND;
  }

  private void write(Witness under, String text) throws Exception {
    long unused = append(writer, stamp(s.sign(under)), text);
    s.clock.sleepNanos(SECOND);
  }

  private static Watermark watermark(long timestamp) {
    return new Watermark(timestamp, timestamp);
  }

  /** What another instance signs; a resume, or a forgery that says nothing of one. */
  private Witness at(long instance, Witness w, long generation, boolean resumed) {
    return new Witness(
        w.name(),
        w.holder(),
        instance,
        generation,
        w.tentative(),
        w.logs(),
        inSeconds(30),
        s.clock.wallNanos(),
        w.correlation(),
        w.previous(),
        w.previousEnding(),
        w.previousEndedAt(),
        w.watermark(),
        w.fence(),
        resumed);
  }

  /** The lease at another instance that follows one. */
  private Witness after(long instance, Witness before, Ending ending, long bound, Fence fence) {
    Witness w = s.after(before, ending, watermark(bound), fence, inSeconds(30));
    return new Witness(
        w.name(),
        w.holder(),
        instance,
        w.generation(),
        false,
        w.logs(),
        w.expiry(),
        w.issuedAt(),
        w.correlation(),
        w.previous(),
        ending,
        w.previousEndedAt(),
        w.watermark(),
        w.fence());
  }

  @Test
  void check2_oneCorrelationMayHaveSeveralInstancesThatResumedIt() throws Exception {
    Witness a = s.first("unit", inSeconds(30));
    write(a, "1");
    write(at(2, a, 1, true), "2");
    write(at(5, a, 1, true), "3");
    passes(1);
  }

  @Test
  void check2_butNoneThatGrantedItToo() throws Exception {
    Witness a = s.first("unit", inSeconds(30));
    write(a, "1");
    write(at(2, a, 1, false), "2");
    fails(Rule.LEASE);
  }

  @Test
  void check2_norGenerationsThatDifferAtOne() throws Exception {
    Witness a = s.first("unit", inSeconds(30));
    write(at(2, a, 1, true), "1");
    write(at(2, a, 2, true), "2");
    fails(Rule.LEASE);
  }

  @Test
  void check4_whoFollowsAResumedLeaseThatWasReleasedNeedsNoBoundAboveEarlierExpiries()
      throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    write(a, "1");
    Witness resumed = at(2, a, 1, true);
    long last = append(writer, stamp(s.sign(resumed)), "2");
    s.clock.sleepNanos(SECOND);
    write(after(2, resumed, Ending.RELEASED, last, Fence.NONE), "3");
    passes(2);
  }

  @Test
  void check4_alsoIfNothingWasWrittenAtTheLaterInstance() throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    long last = append(writer, stamp(s.sign(a)), "1");
    s.clock.sleepNanos(SECOND);
    write(after(2, a, Ending.RELEASED, last, Fence.NONE), "2");
    passes(2);
  }

  /** What it follows knew how the first one ended, and left no trace. */
  @Test
  void check4_norDoesWhoFollowsOneThatNobodyCanSee() throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    long last = append(writer, stamp(s.sign(a)), "1");
    s.clock.sleepNanos(SECOND);
    Witness b = s.after(a, Ending.RELEASED, watermark(last), Fence.NONE, inSeconds(3));
    s.clock.sleepNanos(5 * SECOND);
    var fence = new Fence(b.expiry(), LogSet.ALL);
    s.settle(log, fence.upTo());
    write(after(2, b, Ending.BROKEN, last, fence), "2");
    passes(2);
  }

  @Test
  void check4_orNothingAtTheFirst() throws Exception {
    Witness before = s.first("unit", inSeconds(60));
    long last = append(writer, stamp(s.sign(before)), "1");
    s.clock.sleepNanos(SECOND);
    Witness a = s.after(before, Ending.RELEASED, watermark(last), Fence.NONE, inSeconds(60));
    write(at(2, a, 1, true), "2"); // which does not say that it fenced what the first one signed
    passes(2);
  }

  @Test
  void check4_aGrantOfALaterInstanceThatKnewNothingStillDoes() throws Exception {
    Witness before = s.first("unit", inSeconds(60));
    long last = append(writer, stamp(s.sign(before)), "1");
    s.clock.sleepNanos(SECOND);
    Witness w = s.first("unit", inSeconds(60));
    var unknowing =
        new Witness(
            w.name(),
            w.holder(),
            2,
            1,
            false,
            w.logs(),
            w.expiry(),
            w.issuedAt(),
            w.correlation(),
            w.previous(),
            Ending.UNKNOWN,
            Long.MIN_VALUE,
            watermark(last),
            Fence.NONE);
    write(unknowing, "2");
    fails(Rule.RANGE);
  }

  @Test
  void check3_twoMayFollowALeaseThatWasResumedInVain() throws Exception {
    Witness a = s.first("unit", inSeconds(3));
    long last = append(writer, stamp(s.sign(a)), "1");
    s.clock.sleepNanos(SECOND);
    Witness b = s.after(a, Ending.RELEASED, watermark(last), Fence.NONE, inSeconds(3));
    write(b, "2");
    s.clock.sleepNanos(5 * SECOND);
    var fence = new Fence(b.expiry(), LogSet.ALL);
    s.settle(log, fence.upTo());
    write(after(2, a, Ending.BROKEN, last, fence), "3");
    passes(3);
  }

  @Test
  void check3_butNotAtOneInstance() throws Exception {
    Witness a = s.first("unit", inSeconds(3));
    long last = append(writer, stamp(s.sign(a)), "1");
    s.clock.sleepNanos(SECOND);
    Witness b = s.after(a, Ending.RELEASED, watermark(last), Fence.NONE, inSeconds(3));
    write(b, "2");
    s.clock.sleepNanos(5 * SECOND);
    var fence = new Fence(b.expiry(), LogSet.ALL);
    s.settle(log, fence.upTo());
    write(after(1, a, Ending.BROKEN, last, fence), "3");
    fails(Rule.CHAIN);
  }

  @Test
  void check3_norIfTheLaterOneSaysThatItWasReleased() throws Exception {
    Witness a = s.first("unit", inSeconds(3));
    long last = append(writer, stamp(s.sign(a)), "1");
    s.clock.sleepNanos(SECOND);
    Witness b = s.after(a, Ending.RELEASED, watermark(last), Fence.NONE, inSeconds(3));
    write(b, "2");
    s.clock.sleepNanos(5 * SECOND);
    var fence = new Fence(b.expiry(), LogSet.ALL);
    s.settle(log, fence.upTo());
    write(after(2, a, Ending.RELEASED, last, fence), "3");
    fails(Rule.CHAIN);
  }
}
