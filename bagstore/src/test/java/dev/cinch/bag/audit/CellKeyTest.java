package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Of a cell's instance, readers and audits take what a majority of its nodes signed (rule F3). */
class CellKeyTest {
  private static final CellKeys CELL = Cells.of(1, 3);

  @TempDir Path temp;

  private AuditStore s;
  private Log log;
  private Path root;
  private int leases;

  @BeforeEach
  void open() throws Exception {
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.REQUIRED, true);
    log = s.store.createLog(new LogName("jobs"));
  }

  private Path file(int number) {
    return root.resolve("keys").resolve("%010d".formatted(number));
  }

  private void trust() throws Exception {
    assertEquals(2, TrustedKeyFiles.add(s.store.context(), CELL.key(), s.key));
  }

  private void write(String text, Function<Witness, SignedWitness> signer) throws Exception {
    Witness lease = s.first("unit" + leases++, s.clock.wallNanos() + 900 * SECOND);
    try (LogWriter writer = s.writer(log)) {
      s.settle(log, append(writer, stamp(signer.apply(lease)), text));
    }
  }

  private static SignedWitness byNodes(Witness w, int... nodes) {
    return Cells.signed(CELL, w, nodes);
  }

  private static SignedWitness byOne(Witness w, SigningKey key) {
    return new WitnessSigner(key).sign(w);
  }

  private Log reopened() throws Exception {
    return Store.open(root, s.environment).log(log.name());
  }

  private List<String> settled(List<String> ignored) throws Exception {
    var texts = new ArrayList<String>();
    reopened()
        .reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, file, why) -> ignored.add(why));
    return texts;
  }

  private List<String> live() throws Exception {
    var texts = new ArrayList<String>();
    reopened()
        .reader()
        .live(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, file, why) -> {});
    return texts;
  }

  private AuditReport audit() throws Exception {
    return LeaseAuditor.audit(Store.open(root, s.environment));
  }

  private List<Finding> damage() throws Exception {
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(root, s.environment, found::add);
    return found.stream().filter(f -> f.severity() == Finding.Severity.DAMAGE).toList();
  }

  @Test
  void f3_whatAMajoritySignedIsReadAndPassesTheAudit() throws Exception {
    trust();
    write("two", w -> byNodes(w, 1, 3));
    write("three", w -> byNodes(w, 1, 2, 3));
    var ignored = new ArrayList<String>();
    assertEquals(List.of("two", "three"), settled(ignored));
    assertEquals(List.of(), ignored);
    assertTrue(audit().passed(), () -> "passed");
    assertEquals(List.of(), damage());
  }

  @Test
  void f3_whatFewerSignedIsReadByNobodyAndFailsTheAudit() throws Exception {
    trust();
    write("good", w -> byNodes(w, 2, 3));
    write("a node", w -> byNodes(w, 1));
    write("a node alone", w -> byOne(w, Cells.node(1)));
    write("the store's first key", w -> byOne(w, s.key));
    write("another's", w -> byNodes(w, 1, 4));
    var ignored = new ArrayList<String>();
    assertEquals(List.of("good"), settled(ignored));
    assertEquals(4, ignored.size());
    for (String why : ignored.subList(0, 3)) {
      assertTrue(why.contains("a cell's of which 2 of 3 nodes sign"), why);
    }
    assertTrue(ignored.get(3).contains("not signed by node 4"), ignored.get(3));
    assertEquals(List.of("good"), live());
    AuditReport report = audit();
    assertEquals(4, report.violationCount(), report::toString);
    for (Violation v : report.violations()) {
      assertEquals(Violation.Rule.WITNESS, v.rule(), v::toString);
      assertEquals(1, v.toString().lines().count());
    }
  }

  /** What was settled before the cell was there is read as it was then: answers do not change. */
  @Test
  void f3_aCellsKeyChangesNoEarlierAnswer() throws Exception {
    write("before", w -> byOne(w, s.key));
    trust();
    write("after", w -> byOne(w, s.key));
    assertEquals(List.of("before"), settled(new ArrayList<>()));
  }

  @Test
  void f3_aReaderThatIsOpenLearnsOfTheCell() throws Exception {
    Log open = reopened();
    write("before", w -> byOne(w, s.key));
    var texts = new ArrayList<String>();
    open.reader().live(Long.MIN_VALUE, Long.MAX_VALUE, m -> texts.add("1"), (m, file, why) -> {});
    trust();
    write("forged", w -> byOne(w, s.key));
    write("signed", w -> byNodes(w, 1, 2));
    open.reader()
        .live(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, file, why) -> {});
    assertEquals(List.of("1", "before", "signed"), texts);
  }

  @Test
  void f3_aFileOfACellsKeyThatWasAlteredIsDamaged() throws Exception {
    trust();
    write("good", w -> byNodes(w, 1, 2));
    KeyFile good = KeyFile.decode(Files.readAllBytes(file(2)), Name.of(file(2)));
    assertEquals(Optional.of(CELL), good.key().cell());
    byte[] bytes = Files.readAllBytes(file(2));
    var others = new ArrayList<KeyFile>();
    // Without its nodes; with another node; another order; another instance.
    others.add(new KeyFile(new PublicKey(good.key().bytes()), good.endorsement()));
    var nodes = new ArrayList<>(CELL.nodes());
    nodes.set(2, Cells.node(9).publicKey());
    others.add(new KeyFile(new CellKeys(1, nodes).key(), good.endorsement()));
    List<PublicKey> turned = List.of(CELL.nodes().get(1), CELL.nodes().get(0), CELL.nodes().get(2));
    others.add(new KeyFile(new CellKeys(1, turned).key(), good.endorsement()));
    others.add(new KeyFile(Cells.of(2, 3).key(), good.endorsement()));
    for (KeyFile other : others) {
      StoreEdits.replace(file(2), other.encode());
      assertThrows(DamagedException.class, () -> settled(new ArrayList<>()));
      assertFalse(audit().passed());
      assertFalse(damage().isEmpty());
    }
    Files.delete(file(2));
    assertThrows(DamagedException.class, () -> settled(new ArrayList<>()));
    Files.write(file(2), bytes);
    assertEquals(List.of("good"), settled(new ArrayList<>()));
  }

  @Test
  void f3_aCellVouchesForNoKeyAndForNoneBeforeItself() throws Exception {
    var id = s.store.context().identity().id();
    trust();
    for (SigningKey by : List.of(Cells.node(1), s.key)) {
      byte[] lent = KeyFile.signed(id, 3, KeyForgeries.FORGER.publicKey(), 2, by).encode();
      Files.write(file(3), lent);
      assertFalse(damage().isEmpty());
      Files.delete(file(3));
    }
    assertEquals(List.of(), damage());
  }

  @Test
  void aFileWhoseNodesMakeAnotherKeyIsDamaged() throws Exception {
    var id = s.store.context().identity().id();
    byte[] bytes = KeyFile.signed(id, 2, CELL.key(), 1, s.key).encode();
    assertEquals(
        KeyFile.decode(bytes, Name.of(file(2))), KeyFile.signed(id, 2, CELL.key(), 1, s.key));
    String text = new String(bytes, StandardCharsets.US_ASCII);
    String body = text.substring(text.indexOf('\n') + 1).replace(" ", "");
    String node = CELL.nodes().get(0).toString();
    List<String> bad =
        List.of(
            body.replace("\"instance\":1", "\"instance\":2"),
            body.replace("\"instance\":1", "\"instance\":0"),
            body.replace(node, CELL.nodes().get(1).toString()),
            body.replace(node, Cells.node(7).publicKey().toString()),
            body.replace("\"instance\":1,", ""),
            body.replace("\"nodes\":", "\"others\":"));
    for (String each : bad) {
      assertFalse(each.equals(body));
      byte[] json = each.getBytes(StandardCharsets.US_ASCII);
      String digest = dev.cinch.bag.format.Envelope.sha256(json);
      byte[] file =
          ("cinch key 2 " + json.length + " " + digest + "\n" + each)
              .getBytes(StandardCharsets.US_ASCII);
      assertThrows(DamagedException.class, () -> KeyFile.decode(file, Name.of(file(2))), each);
    }
  }
}
