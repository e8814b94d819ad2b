package dev.cinch.examples;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.KeyForgeries;
import dev.cinch.bag.audit.StoreEdits;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code reader.py} judges keys as the Java readers do (rule F3). */
@SuppressWarnings("NullAway.Init") // each test fills its own store
class PythonKeysTest {
  @TempDir Path temp;

  private AuditStore s;
  private Log log;
  private Path root;
  private int stores;
  private int leases;

  @BeforeEach
  void needPython() throws Exception {
    Python.Run unused = Python.read(temp, fillEmpty(), "jobs");
  }

  private Path fillEmpty() throws Exception {
    root = temp.resolve("store" + stores++);
    s = new AuditStore(root, Leases.REQUIRED, stores % 2 == 0);
    log = s.store.createLog(new LogName("jobs"));
    return root;
  }

  private KeyForgeries fill() throws Exception {
    Path unused = fillEmpty();
    append(s.key);
    append(s.key);
    var id = s.store.context().identity().id();
    return new KeyForgeries(root, log.context().layout().root().path(), id, s.key);
  }

  private void append(SigningKey key) throws Exception {
    append(new WitnessSigner(key)::sign);
  }

  private void append(Function<Witness, SignedWitness> signer) throws Exception {
    var lease = s.first("unit" + leases++, s.clock.wallNanos() + 900 * AuditStore.SECOND);
    LeaseStamp under = AuditStore.stamp(signer.apply(lease));
    try (LogWriter writer = s.writer(log)) {
      s.settle(log, AuditStore.append(writer, under, "message"));
    }
  }

  private void reads(int messages) throws Exception {
    Python.Run run = Python.read(temp, root, "jobs");
    assertEquals(0, run.exit(), run.err());
    assertEquals(messages, run.out().size());
  }

  private void tells(String what) throws Exception {
    Python.Run run = Python.read(temp, root, "jobs");
    assertEquals(1, run.exit(), what);
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().contains("damaged at byte") || run.err().contains("no key"), run.err());
  }

  @Test
  @Tag("share")
  void f3_anAlteredKeyIsTold() throws Exception {
    for (int both = 0; both < 2; both++) {
      List<String> names = List.copyOf(fill().damaging().keySet());
      reads(2);
      for (int i = Share.first(5); i < names.size(); i += Share.step(5)) {
        requireNonNull(fill().damaging().get(names.get(i))).run();
        tells(names.get(i));
      }
      stores++;
    }
  }

  @Test
  @Tag("share")
  void f3_aForgedKeyChangesNoAnswer() throws Exception {
    List<String> names = List.copyOf(fill().idle().keySet());
    for (int i = Share.first(3); i < names.size(); i += Share.step(3)) {
      requireNonNull(fill().idle().get(names.get(i))).run();
      reads(2);
    }
  }

  @Test
  void f3_aSignedKeyCounts() throws Exception {
    KeyForgeries unused = fill();
    SigningKey second = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32));
    assertEquals(2, TrustedKeyFiles.add(s.store.context(), second.publicKey(), s.key));
    append(second);
    reads(3);
  }

  @Test
  void f3_whatADelegatedKeySignedIsReadUntilItsEnd() throws Exception {
    KeyForgeries unused = fill();
    SigningKey second = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32));
    long end = (s.clock.wallNanos() / 1_000_000 + 1_000_000) * 1_000_000;
    PublicKey key = second.publicKey().until(end);
    assertEquals(2, TrustedKeyFiles.add(s.store.context(), key, s.key));
    append(second);
    reads(3);
    s.clock.advanceMs(200_000);
    append(second); // a lease that outlasts it
    reads(3);
    Path file = root.resolve("keys/0000000002");
    KeyFile good = KeyFile.decode(Files.readAllBytes(file), Name.of(file));
    for (PublicKey other : List.of(second.publicKey(), second.publicKey().until(2 * end))) {
      StoreEdits.replace(file, new KeyFile(other, good.endorsement()).encode());
      tells("another end of a key");
    }
  }

  @Test
  void aRecordOfVersionOneIsTold() throws Exception {
    KeyForgeries unused = fill();
    Path last = log.context().layout().record(2).path();
    String record = Files.readString(last);
    StoreEdits.removeSeals(last.resolveSibling("."));
    String other = record.replaceFirst("record 3 ", "record 1 ");
    StoreEdits.replace(last, other.getBytes(StandardCharsets.UTF_8));
    tells("version 1");
  }

  @Test
  void aStoreOfWhichNoMessagePassesIsSaidLoudly() throws Exception {
    Path unused = fillEmpty();
    append(KeyForgeries.FORGER);
    Python.Run run = Python.read(temp, root, "jobs");
    assertEquals(1, run.exit());
    assertFalse(run.err().contains("damaged"), run.err());
    assertTrue(run.err().contains("no message passed: all 1"), run.err());
  }
}
