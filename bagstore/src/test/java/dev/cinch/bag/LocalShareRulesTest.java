package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.LocalSlots;
import dev.cinch.bag.fs.MemorySlots;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.Durability;
import dev.cinch.bag.write.LocalShare;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Section 2: processes of one machine that go on with each other's data files. */
class LocalShareRulesTest {
  private final Rig rig = rig();
  private final StoreFs alice = rig.disk.view(Rig.ALICE);
  private final MemorySlots slots = new MemorySlots();
  private final Ledger ledger = new Ledger();
  private final Set<String> files = new HashSet<>();
  private int messages;

  private static Rig rig() {
    try {
      return Rig.memory(23);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private LogWriter writer(StoreFs fs, TimeSource time, LocalSlots with, Durability durability)
      throws IOException {
    return rig.sharing(fs, time, new LocalShare(with)).writer(durability);
  }

  private LogWriter writer() throws IOException {
    return writer(alice, rig.time, slots, Durability.SYNC);
  }

  private Receipt.Committed append(LogWriter writer) throws Exception {
    var c =
        assertInstanceOf(Receipt.Committed.class, ledger.append(writer, "message " + messages++));
    files.add(c.file().toString());
    return c;
  }

  /** A short process: one message, and it ends. */
  private Receipt.Committed brief() throws Exception {
    try (LogWriter writer = writer()) {
      return append(writer);
    }
  }

  private Path path(Receipt.Committed c) throws IOException {
    return LogLayout.dataFile(rig.open(alice).context().layout().bucket(c.bucket()), c.file());
  }

  private void finish(int expectedFiles) throws Exception {
    Log other = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(other);
    ledger.check(Ledger.settled(other));
    assertEquals(expectedFiles, files.size(), files::toString);
  }

  @Test
  void fiftyProcessesOneAfterAnotherWriteOneFile() throws Exception {
    for (int i = 0; i < 50; i++) {
      assertEquals(i, brief().position());
    }
    finish(1);
  }

  @Test
  void a2_aFileThatSomebodyHoldsIsNobodyElses() throws Exception {
    brief();
    try (LogWriter first = writer();
        LogWriter second = writer()) {
      append(first);
      append(second);
      append(first);
      append(second);
    }
    brief();
    finish(2);
  }

  @Test
  void a2_aFileIsOfferedToNobodyWhileItIsWrittenAndNeverAfterAKill() throws Exception {
    brief();
    var fs = new FaultyFs(alice);
    fs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> assertEquals(0, slots.offered()));
    fs.arm(1, Fault.CRASH_AFTER, op -> op.is(Kind.WRITE, ".log"));
    LogWriter killed = writer(fs, rig.time, slots, Durability.SYNC);
    assertTrue(!ledger.tryAppend(killed, "killed", new byte[] {'k', 'i', 'l', 'l', 'e', 'd'}));
    slots.kill();
    brief();
    finish(2);
  }

  @Test
  void a2_afterAFailedWriteTheFileIsNotLeftToOthers() throws Exception {
    brief();
    var fs = new FaultyFs(alice);
    LogWriter failing = writer(fs, rig.time, slots, Durability.SYNC);
    fs.arm(1, Fault.ERROR_PARTIAL, op -> op.is(Kind.WRITE, ".log"));
    assertInstanceOf(
        Receipt.Rejected.class, ledger.append(failing, "torn", new byte[] {'t', 'o', 'r', 'n'}));
    failing.close();
    assertEquals(0, slots.offered());
  }

  @Test
  void a2_aFileOfAnotherLengthIsNotGoneOnWith() throws Exception {
    Path file = path(brief());
    int length = rig.disk.content(file).length;
    rig.disk.put(file, length, new byte[] {1});
    Path second = path(brief());
    brief();
    // Cut to a whole batch: what ends well and is too short was lost, and is no place to go on.
    rig.disk.truncate(second, length);
    brief();
    assertEquals(3, files.size());
  }

  @Test
  void a4_aFileThatDoesNotEndInAValidBatchIsNotGoneOnWith() throws Exception {
    Path file = path(brief());
    byte[] content = rig.disk.content(file);
    rig.disk.put(file, content.length - 1, new byte[] {(byte) ~content[content.length - 1]});
    brief();
    assertEquals(2, files.size());
  }

  @Test
  void a2_afterARebootNothingIsGoneOnWith() throws Exception {
    brief();
    slots.reboot();
    brief();
    finish(2);
  }

  @Test
  void a2_ofTwoCopiesOfAMachineOneGoesOnAndNotTheOther() throws Exception {
    brief();
    MemorySlots copy = slots.copy();
    try (LogWriter here = writer();
        LogWriter there = writer(alice, rig.time, copy, Durability.SYNC)) {
      append(here);
      append(there);
      append(here);
      append(there);
    }
    finish(2);
  }

  @Test
  void aProcessThatForcesDoesNotGoOnWithAFileThatWasNotForced() throws Exception {
    try (LogWriter close = writer(alice, rig.time, slots, Durability.CLOSE)) {
      append(close);
    }
    brief();
    finish(2);
  }

  @Test
  void timestampsOfAFileIncreaseWhoeverWrites() throws Exception {
    brief();
    try (LogWriter late = writer(alice, rig.time.skewed(-50_000_000), slots, Durability.SYNC)) {
      append(late);
    }
    finish(2);
  }

  @Test
  void a6_whoTakesAFileOverLooksForHimself() throws Exception {
    brief();
    var fs = new FaultyFs(alice);
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    fs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(closer));
    LogWriter writer = writer(fs, rig.time, slots, Durability.SYNC);
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late"));
    assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.APPEND, ".log")), "took nothing");
    ledger.check(Ledger.settled(closer));
  }

  @Test
  void aFileWhoseClosingFailedIsLeftToNobody() throws Exception {
    var fs = new FaultyFs(alice);
    LogWriter writer = writer(fs, rig.time, slots, Durability.SYNC);
    append(writer);
    fs.arm(1, Fault.ERROR_AFTER, op -> op.is(Kind.CLOSE, ".log"));
    writer.close();
    assertTrue(fs.fired());
    brief();
    finish(2);
  }

  @Test
  void a6_theHorizonIsLookedAtByEachProcess() throws Exception {
    brief();
    var fs = new FaultyFs(alice);
    try (LogWriter writer = writer(fs, rig.time, slots, Durability.SYNC)) {
      append(writer);
    }
    assertTrue(
        fs.trace().stream()
            .anyMatch(op -> op.kind() == Kind.LIST && op.path().endsWith("intents")));
    finish(1);
  }

  @Test
  void a5_witnessesAreNumberedOnFromThoseThatStandInTheFile() throws Exception {
    var key = SigningKey.ofSeed(new byte[32]);
    Log log = rig.open(alice);
    long unused = TrustedKeyFiles.add(log.context().store(), key);
    var wrote = new ArrayList<List<SignedWitness>>();
    for (int i = 0; i < 4; i++) {
      SignedWitness w = witness(key, "name" + i % 3, i % 3);
      wrote.add(List.of(w));
      try (LogWriter writer = writer()) {
        var c =
            assertInstanceOf(
                Receipt.Committed.class, writer.append(AuditStore.stamp(w), new byte[] {(byte) i}));
        files.add(c.file().toString());
      }
    }
    rig.settle(log);
    var read = new ArrayList<List<SignedWitness>>();
    log.reader()
        .settled(
            Long.MIN_VALUE, Long.MAX_VALUE, true, m -> read.add(m.leases()), (m, f, why) -> {});
    assertEquals(wrote, read);
    assertEquals(1, files.size());
  }

  private SignedWitness witness(SigningKey key, String name, long serial) {
    return new WitnessSigner(key)
        .sign(
            new Witness(
                new LeaseName(name),
                "holder",
                1,
                1,
                false,
                LogSet.ALL,
                rig.time.wallNanos() + 60_000_000_000L,
                rig.time.wallNanos(),
                new Id(serial, 1),
                Optional.empty(),
                Ending.NONE,
                Long.MIN_VALUE,
                Watermark.NONE,
                Fence.NONE));
  }

  /** Whether the fault was reached. */
  private static boolean faultOfTheStore(Fault fault, int k) throws Exception {
    var test = new LocalShareRulesTest();
    test.brief();
    var fs = new FaultyFs(test.alice);
    fs.arm(k, fault);
    test.faulty(fs);
    return fs.fired();
  }

  private void faulty(FaultyFs fs) throws Exception {
    try {
      LogWriter writer = writer(fs, rig.time, slots, Durability.SYNC);
      if (ledger.tryAppend(writer, "the one", Ledger.payload("the one", 40_000))) {
        ledger.append(writer, "after");
        writer.close();
      }
    } catch (FaultyFs.Crash | IOException e) {
      // Opening the store failed, or the process ended; others go on.
    }
    slots.kill();
    brief();
    brief();
    Log other = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(other);
    ledger.check(Ledger.settled(other));
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void aFaultAtEveryOperationOnTheStore(Fault fault) throws Exception {
    int k = 1;
    while (faultOfTheStore(fault, k)) {
      k++;
    }
    assertTrue(k > 30, "few operations: " + k);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFaultAtEveryOperationOnTheSlot(boolean before) throws Exception {
    int k = 1;
    boolean fired = true;
    for (; fired; k++) {
      var test = new LocalShareRulesTest();
      test.brief();
      test.slots.arm(k, before);
      try (LogWriter writer = test.writer()) {
        test.append(writer);
        test.append(writer);
      }
      fired = test.slots.fired();
      test.slots.arm(0, before);
      test.slots.kill();
      test.brief();
      Log other = test.rig.open(test.rig.disk.view(Rig.BOB));
      test.rig.settle(other);
      test.ledger.check(Ledger.settled(other));
    }
    assertTrue(k > 5, "few operations: " + k);
  }
}
