package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
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

  /** Appends; its timestamp. */
  @CanIgnoreReturnValue
  private long write(Witness under, String text) throws Exception {
    long timestamp = append(writer, stamp(s.sign(under)), text);
    s.clock.sleepNanos(SECOND);
    return timestamp;
  }

  /** The lease that follows one that wrote last at a time and was given back. */
  private Witness released(Witness before, long last, long seconds) {
    return s.after(before, Ending.RELEASED, watermark(last), Fence.NONE, inSeconds(seconds));
  }

  private static Watermark watermark(long timestamp) {
    return new Watermark(timestamp, timestamp, timestamp);
  }

  /** What another instance signs; a resume, or a forgery that says nothing of one. */
  private Witness at(long instance, Witness w, long generation, boolean resumed) {
    return Altered.with(
        w,
        "instance",
        instance,
        "generation",
        generation,
        "expiry",
        inSeconds(30),
        "issuedAt",
        s.clock.wallNanos(),
        "resumed",
        resumed);
  }

  /** The lease at another instance that follows one. */
  private Witness after(long instance, Witness before, Ending ending, long bound, Fence fence) {
    Witness w = s.after(before, ending, watermark(bound), fence, inSeconds(30));
    return Altered.with(w, "instance", instance, "tentative", false, "previousEnding", ending);
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
    long last = write(resumed, "2");
    write(after(2, resumed, Ending.RELEASED, last, Fence.NONE), "3");
    passes(2);
  }

  @Test
  void check4_alsoIfNothingWasWrittenAtTheLaterInstance() throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    long last = write(a, "1");
    write(after(2, a, Ending.RELEASED, last, Fence.NONE), "2");
    passes(2);
  }

  /** What it follows knew how the first one ended, and left no trace. */
  @Test
  void check4_norDoesWhoFollowsOneThatNobodyCanSee() throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    long last = write(a, "1");
    Witness b = released(a, last, 3);
    write(after(2, b, Ending.BROKEN, last, fenced(b)), "2");
    passes(2);
  }

  /** It was left to the later instance, which knows how long it was held (rule L19). */
  @Test
  void check4_whoFollowsOneThatWasLeftNeedsNoBoundAboveThoseBeforeIt() throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    Witness b = released(a, write(a, "1"), 3);
    long last = write(b, "2");
    write(after(2, b, Ending.BROKEN, last, fenced(b)), "3");
    passes(3);
  }

  @Test
  void check4_butOneAboveItsExpiry() throws Exception {
    Witness a = s.first("unit", inSeconds(60));
    long last = write(a, "1");
    write(after(2, a, Ending.BROKEN, last, Fence.NONE), "2");
    fails(Rule.RANGE);
  }

  @Test
  void check4_orNothingAtTheFirst() throws Exception {
    Witness before = s.first("unit", inSeconds(60));
    long last = write(before, "1");
    Witness a = released(before, last, 60);
    write(at(2, a, 1, true), "2"); // which does not say that it fenced what the first one signed
    passes(2);
  }

  @Test
  void check4_aGrantOfALaterInstanceThatKnewNothingStillDoes() throws Exception {
    Witness before = s.first("unit", inSeconds(60));
    long last = write(before, "1");
    Witness w = s.first("unit", inSeconds(60));
    var unknowing =
        Altered.with(
            w,
            "instance",
            2,
            "generation",
            1,
            "tentative",
            false,
            "previousEnding",
            Ending.UNKNOWN,
            "previousEndedAt",
            Long.MIN_VALUE,
            "watermark",
            watermark(last),
            "fence",
            Fence.NONE);
    write(unknowing, "2");
    fails(Rule.RANGE);
  }

  /** A lease of the same instance follows one, and then another of some instance follows it too. */
  private void twoFollow(long instance, Ending ending) throws Exception {
    Witness a = s.first("unit", inSeconds(3));
    long last = write(a, "1");
    Witness b = released(a, last, 3);
    write(b, "2");
    write(after(instance, a, ending, last, fenced(b)), "3");
  }

  /** Waits until a lease is over, and fences it. */
  private Fence fenced(Witness lease) throws Exception {
    s.clock.sleepNanos(5 * SECOND);
    var fence = new Fence(lease.expiry(), LogSet.ALL);
    s.settle(log, fence.upTo());
    return fence;
  }

  @Test
  void check3_twoMayFollowALeaseThatWasResumedInVain() throws Exception {
    twoFollow(2, Ending.BROKEN);
    passes(3);
  }

  @Test
  void check3_butNotAtOneInstance() throws Exception {
    twoFollow(1, Ending.BROKEN);
    fails(Rule.CHAIN);
  }

  @Test
  void check3_norIfTheLaterOneSaysThatItWasReleased() throws Exception {
    twoFollow(2, Ending.RELEASED);
    fails(Rule.CHAIN);
  }
}
