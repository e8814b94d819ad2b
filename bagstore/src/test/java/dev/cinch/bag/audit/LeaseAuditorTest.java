package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.reckless;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.cinch.bag.Log;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.read.LogReader.Objection;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.Tampering;
import dev.cinch.lease.witness.Tampering.Edit;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Section 8: what audit lets pass, and what it catches. */
public class LeaseAuditorTest {
  private static final LogName LATE = new LogName("late");

  @TempDir Path temp;

  private AuditStore s;
  private Log log;
  private LogWriter writer;

  @BeforeEach
  void open() throws Exception {
    open(Leases.OPTIONAL);
  }

  private void open(Leases leases) throws Exception {
    s = new AuditStore(temp.resolve("store-" + leases), leases);
    log = s.store.createLog(new LogName("jobs"));
    writer = s.writer(log);
  }

  private AuditReport audit() throws Exception {
    s.settle(log, s.clock.wallNanos() + SECOND);
    return audit(s);
  }

  /** How a settled store is audited; elsewhere also after what was settled has been retired. */
  protected AuditReport audit(AuditStore settled) throws Exception {
    return LeaseAuditor.audit(settled.store);
  }

  private Violation only(Rule rule) throws Exception {
    AuditReport report = audit();
    assertFalse(report.passed());
    assertEquals(1, report.violationCount(), report::toString);
    Violation v = report.violations().get(0);
    assertEquals(rule, v.rule(), v::toString);
    assertTrue(v.path().toString().matches(".*/(lock|segments/[0-9]+)"), v::toString);
    assertTrue(v.offset() > 0, v::toString);
    return v;
  }

  private static Watermark watermark(long timestamp) {
    return new Watermark(timestamp, timestamp, timestamp);
  }

  @Test
  void releasedAndFencedHandoversPass() throws Exception {
    Log other = s.store.createLog(new LogName("other"));
    Witness a = s.first("unit", s.clock.wallNanos() + 10 * SECOND);
    LeaseStamp under = stamp(s.sign(a));
    append(writer, under, "a1");
    s.clock.sleepNanos(2 * SECOND);
    long last = append(writer, under, "a2");
    append(writer, LeaseStamp.NONE, "nobody's");
    s.clock.sleepNanos(SECOND);

    Witness b =
        s.after(a, Ending.RELEASED, watermark(last), Fence.NONE, s.clock.wallNanos() + 5 * SECOND);
    append(writer, stamp(s.sign(b)), "b");
    s.clock.sleepNanos(6 * SECOND);

    var fence = new Fence(b.expiry(), LogSet.of(List.of(log.id(), other.id())));
    Witness c =
        s.after(b, Ending.BROKEN, watermark(last), fence, s.clock.wallNanos() + 60 * SECOND);
    s.settle(log, fence.upTo());
    s.settle(other, fence.upTo());
    append(writer, stamp(s.sign(c)), "c");
    // As a session does: the next renewal says that the fence is done.
    Witness renewed = fenced(c);
    append(writer, stamp(s.sign(renewed)), "c renewed");

    AuditReport report = audit();
    assertTrue(report.passed(), report::toString);
    assertEquals(2, report.logs());
    assertEquals(6, report.messages());
    assertEquals(1, report.unleased());
    assertEquals(3, report.leases());
    assertEquals(1, report.names());
    assertEquals(2, report.handovers());
    assertEquals(1, report.fences());
    assertEquals(5, report.witnesses()); // a's stands in two buckets
  }

  private static Witness fenced(Witness w) {
    return Altered.with(
        w,
        "expiry",
        w.expiry() + SECOND,
        "issuedAt",
        w.issuedAt() + SECOND,
        "watermark",
        watermark(w.lowerBound()),
        "fence",
        Fence.NONE);
  }

  @Test
  void catchesForgedSignature() throws Exception {
    byte[] other = new byte[32];
    Arrays.fill(other, (byte) 9);
    var forger = new WitnessSigner(SigningKey.ofSeed(other));
    append(writer, stamp(forger.sign(s.first("unit", s.clock.wallNanos() + SECOND))), "forged");
    assertTrue(only(Rule.WITNESS).problem().contains("unknown key"));
  }

  @Test
  void catchesAlteredWitness() throws Exception {
    SignedWitness good = s.sign(s.first("unit", s.clock.wallNanos() + SECOND));
    byte[] bytes = good.bytes();
    bytes[bytes.length - 1] ^= 1;
    append(writer, stamp(new SignedWitness(good.witness(), bytes)), "altered");
    assertTrue(only(Rule.WITNESS).problem().contains("bad signature"));
  }

  /** A good message under a lease alone and two of a tree, and one under each edit of these. */
  private int appendEdits() throws Exception {
    long expiry = s.clock.wallNanos() + 60 * SECOND;
    SignedWitness alone = s.sign(s.first("alone", expiry));
    List<SignedWitness> tree =
        s.sign(List.of(s.first("a", expiry), s.first("b", expiry), s.first("c", expiry)));
    int edits = 0;
    for (SignedWitness good : List.of(alone, tree.get(0), tree.get(2))) {
      append(writer, reckless(good), "good");
      for (Edit edit : Tampering.of(good, good.equals(alone) ? tree.get(1) : alone)) {
        append(writer, reckless(edit.witness()), edit.what());
        edits++;
      }
    }
    return edits;
  }

  @Test
  void catchesEveryEditOfAWitness() throws Exception {
    int edits = appendEdits();
    AuditReport report = audit();
    assertEquals(edits, report.violationCount(), report::toString);
    assertEquals(3, report.leases());
    for (Violation v : report.violations()) {
      assertEquals(Rule.WITNESS, v.rule(), v::toString);
    }
  }

  @Test
  void f3_readersTakeNoEditOfAWitness() throws Exception {
    open(Leases.REQUIRED);
    int edits = appendEdits();
    var read = new ArrayList<String>();
    MessageSink sink = m -> read.add(new String(m.payload(), StandardCharsets.UTF_8));
    var refused = new ArrayList<String>();
    Objection objection = (m, file, why) -> refused.add(why);
    long unused = log.reader().live(Long.MIN_VALUE, Long.MAX_VALUE, sink, objection);
    assertEquals(List.of("good", "good", "good"), read);
    assertEquals(edits, refused.size());
    read.clear();
    assertEquals(edits, audit().violationCount()); // and elsewhere retired
    unused = log.reader().settled(Long.MIN_VALUE, Long.MAX_VALUE, true, sink, objection);
    assertEquals(List.of("good", "good", "good"), read);
    assertEquals(2 * edits, refused.size());
  }

  @Test
  void catchesMessageAtExpiry() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + SECOND);
    s.clock.sleepNanos(SECOND);
    append(writer, reckless(s.sign(a)), "late");
    assertTrue(only(Rule.WITNESS).problem().contains("expiry"));
  }

  @Test
  void catchesMessageAtLowerBound() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 5 * SECOND);
    Witness b =
        s.after(
            a,
            Ending.RELEASED,
            watermark(s.clock.wallNanos() + SECOND),
            Fence.NONE,
            s.clock.wallNanos() + 9 * SECOND);
    s.clock.sleepNanos(SECOND);
    append(writer, reckless(s.sign(b)), "early");
    assertTrue(only(Rule.WITNESS).problem().contains("lower bound"));
  }

  @Test
  void catchesWatermarkTooFarAhead() throws Exception {
    long allowed = s.store.settings().watermarkAheadNanos();
    assertEquals(
        2_500_000_000L, allowed, "500 ms each for two clocks and a timestamp, and a second");
    Witness a = s.first("unit", s.clock.wallNanos() + 30 * SECOND);
    append(writer, reckless(s.sign(Altered.ahead(a, allowed + 1))), "early");
    assertTrue(only(Rule.WITNESS).problem().contains("too far ahead of its signed time"));
  }

  @Test
  void watermarkAsFarAheadAsAllowedPasses() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 30 * SECOND);
    Witness most = Altered.ahead(a, s.store.settings().watermarkAheadNanos());
    s.clock.sleepNanos(5 * SECOND);
    append(writer, stamp(s.sign(most)), "then");
    assertTrue(audit().passed());
  }

  @Test
  void catchesWrongLog() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 5 * SECOND);
    append(writer, stamp(s.sign(withLogs(a, LogSet.of(List.of(new Id(1, 2)))))), "elsewhere");
    assertTrue(only(Rule.WITNESS).problem().contains("does not name this log"));
  }

  private static Witness withLogs(Witness w, LogSet logs) {
    return Altered.with(w, "logs", logs);
  }

  @Test
  void catchesOverlappingRanges() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 9 * SECOND);
    s.clock.sleepNanos(1_000_000);
    Witness b =
        s.after(
            a,
            Ending.RELEASED,
            watermark(s.clock.wallNanos()),
            Fence.NONE,
            s.clock.wallNanos() + 9 * SECOND);
    s.clock.sleepNanos(1_000_000);
    append(writer, stamp(s.sign(b)), "b");
    append(writer, stamp(s.sign(a)), "a again");
    AuditReport report = audit();
    // Above the next lease's lower bound, and above the watermark that it was released with.
    assertEquals(2, report.violationCount(), report::toString);
    assertEquals(Rule.RANGE, report.violations().get(0).rule());
    assertEquals(Rule.RANGE, report.violations().get(1).rule());
  }

  @Test
  void catchesFenceThatIsTooLow() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 9 * SECOND);
    append(writer, stamp(s.sign(a)), "a");
    s.clock.sleepNanos(SECOND);
    var fence = new Fence(s.clock.wallNanos(), LogSet.ALL); // below a's expiry
    Witness b = s.after(a, Ending.BROKEN, Watermark.NONE, fence, s.clock.wallNanos() + 60 * SECOND);
    s.settle(log, a.expiry());
    append(writer, stamp(s.sign(b)), "b");
    assertTrue(only(Rule.RANGE).problem().contains("not released"));
  }

  @Test
  void catchesMissingFence() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 3 * SECOND);
    append(writer, stamp(s.sign(a)), "a");
    s.clock.sleepNanos(10 * SECOND);
    var fence = new Fence(a.expiry(), LogSet.ALL);
    Witness b = s.after(a, Ending.BROKEN, Watermark.NONE, fence, s.clock.wallNanos() + 60 * SECOND);
    append(writer, stamp(s.sign(b)), "b, without a look at the horizon");
    assertTrue(only(Rule.FENCE).problem().contains("before the horizon had passed"));
  }

  /** One writes to another log and stops; the next to this one, and nobody has fenced. */
  private Fence taken(Log other) throws Exception {
    s.clock.sleepNanos(20 * SECOND);
    Witness a = s.first("unit", s.clock.wallNanos() + 3 * SECOND);
    try (LogWriter w = s.writer(other)) {
      append(w, stamp(s.sign(a)), "a");
    }
    s.clock.sleepNanos(10 * SECOND);
    var fence = new Fence(a.expiry(), LogSet.of(List.of(other.id())));
    Witness b = s.after(a, Ending.BROKEN, Watermark.NONE, fence, s.clock.wallNanos() + 60 * SECOND);
    append(writer, stamp(s.sign(b)), "b");
    return fence;
  }

  @Test
  void catchesMissingFenceOfAnotherLog() throws Exception {
    Log other = s.store.createLog(new LogName("other"));
    Fence unused = taken(other);
    assertTrue(only(Rule.FENCE).problem().contains("horizon of log other"));
  }

  /** A lease broken by a fence for all logs, after which another log was made. */
  private Witness fencedBeforeLateIsMade() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 3 * SECOND);
    append(writer, stamp(s.sign(a)), "a");
    var fence = new Fence(a.expiry(), LogSet.ALL);
    s.settle(log, fence.upTo());
    Log unused = s.store.createLog(LATE);
    s.clock.sleepNanos(10 * SECOND); // the next one's witness is a renewal
    return s.after(a, Ending.BROKEN, Watermark.NONE, fence, s.clock.wallNanos() + 60 * SECOND);
  }

  @Test
  void aLogThatWasMadeAfterTheFenceNeedsNone() throws Exception {
    append(writer, stamp(s.sign(fencedBeforeLateIsMade())), "b");
    AuditReport report = audit();
    assertTrue(report.passed(), report::toString);
    assertEquals(1, report.fences());
  }

  @Test
  void aLogThatWasMadeAfterTheFenceIsWrittenToWithoutOne() throws Exception {
    LeaseStamp next = stamp(s.sign(fencedBeforeLateIsMade()));
    Log late = s.store.log(LATE);
    try (LogWriter w = s.writer(late)) {
      s.settle(late, append(w, next, "b"));
    }
    AuditReport report = audit();
    assertTrue(report.passed(), report::toString);
    assertEquals(1, report.fences());
  }

  @Test
  void catchesMessageUnderALeaseThatIsNotAboveTheMakingOfItsLog() throws Exception {
    append(writer, LeaseStamp.NONE, "older, and nobody's");
    Witness a = s.first("unit", s.clock.wallNanos() + 3 * SECOND);
    long when = append(writer, stamp(s.sign(a)), "a");
    Path identity = log.context().layout().identity().path();
    var document =
        JsonNodeFactory.instance
            .objectNode()
            .put("log", log.id().toString())
            .put("name", log.name().value())
            .put("created", when);
    Files.setPosixFilePermissions(identity, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(identity, Envelope.encode("log", document));
    assertTrue(only(Rule.FENCE).problem().contains("its log was made at " + when));
  }

  /** In a store in use it may be made between the looks at two logs. */
  @Test
  void aFenceOfAnotherLogThatIsMadeMeanwhilePasses() throws Exception {
    Log other = s.store.createLog(new LogName("another"));
    Fence fence = taken(other);
    s.settle(log, s.clock.wallNanos() + SECOND);
    AuditReport report = LeaseAuditor.audit(s.store, messages -> settle(other, fence.upTo()));
    assertTrue(report.passed(), report::toString);
    assertEquals(1, report.messages());
  }

  private void settle(Log which, long to) {
    try {
      s.settle(which, to);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void catchesForkInTheChain() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 9 * SECOND);
    long last = append(writer, stamp(s.sign(a)), "a");
    s.clock.sleepNanos(SECOND);
    Witness b =
        s.after(a, Ending.RELEASED, watermark(last), Fence.NONE, s.clock.wallNanos() + 9 * SECOND);
    long lastB = append(writer, stamp(s.sign(b)), "b");
    s.clock.sleepNanos(SECOND);
    Witness c =
        s.after(a, Ending.RELEASED, watermark(lastB), Fence.NONE, s.clock.wallNanos() + 9 * SECOND);
    append(writer, stamp(s.sign(c)), "c");
    AuditReport report = audit();
    assertEquals(2, report.violationCount(), report::toString);
    assertTrue(report.violations().stream().allMatch(v -> v.rule() == Rule.CHAIN));
  }

  @Test
  void catchesWitnessesThatContradictEachOther() throws Exception {
    Witness a = s.first("unit", s.clock.wallNanos() + 9 * SECOND);
    append(writer, stamp(s.sign(a)), "a");
    s.clock.sleepNanos(SECOND);
    Witness b = s.after(a, Ending.RELEASED, watermark(s.clock.wallNanos()), Fence.NONE, a.expiry());
    Witness same =
        Altered.with(
            Altered.first(b.name().value(), b.holder(), a.correlation(), b.issuedAt(), b.expiry()),
            "generation",
            2,
            "time",
            b.time());
    append(writer, stamp(s.sign(same)), "b");
    assertEquals(1, audit().violations().stream().filter(v -> v.rule() == Rule.LEASE).count());
  }

  @Test
  void f3_readersIgnoreWhatNoValidWitnessPermits() throws Exception {
    open(Leases.REQUIRED);
    Witness a = s.first("unit", s.clock.wallNanos() + SECOND);
    append(writer, stamp(s.sign(a)), "good");
    append(writer, LeaseStamp.NONE, "without");
    append(writer, stamp(s.sign(withLogs(a, LogSet.NONE))), "wrong log");
    s.clock.sleepNanos(SECOND);
    append(writer, reckless(s.sign(a)), "late");
    s.settle(log, s.clock.wallNanos() + SECOND);

    var read = new ArrayList<String>();
    var ignored = new ArrayList<String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> read.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, file, why) -> ignored.add(new String(m.payload(), StandardCharsets.UTF_8)));
    assertEquals(List.of("good"), read);
    assertEquals(List.of("without", "wrong log", "late"), ignored);
    AuditReport report = audit(s);
    assertEquals(3, report.violationCount(), report::toString);
    assertEquals(4, report.messages());
  }

  /** Nor does its place go to the next one. */
  @Test
  void f3_aLostKeyHidesNoMessageWithoutAWord() throws Exception {
    open(Leases.REQUIRED);
    append(writer, stamp(s.sign(s.first("unit", s.clock.wallNanos() + SECOND))), "good");
    AuditReport report = audit(); // and elsewhere retired
    assertTrue(report.passed(), report::toString);
    Path keys = s.store.context().layout().keys().path();
    Files.move(keys.resolve("0000000001"), keys.resolve("0000000002"));
    var ignored = new ArrayList<String>();
    var e =
        assertThrows(
            DamagedException.class,
            () ->
                s.store
                    .log(log.name())
                    .reader()
                    .settled(
                        Long.MIN_VALUE,
                        Long.MAX_VALUE,
                        true,
                        m -> true,
                        (m, file, why) -> ignored.add(why)));
    assertEquals(Name.of(keys), e.path());
    assertEquals("1 trusted keys", e.expected());
    assertEquals(List.of(), ignored);
  }
}
