package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.reckless;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.KeyForgeries.Forgery;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.NewerFormatException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.store.KeyRefusedException;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Id;
import dev.cinch.lease.Share;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever may write to a store can forge no lease with a key of its own (rule F3). */
@SuppressWarnings("NullAway.Init") // each test fills its own store
class KeyForgeriesTest {
  private static final SigningKey SECOND_KEY = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32));

  @TempDir Path temp;

  private AuditStore s;
  private Log log;
  private Path root;
  private int stores;
  private int leases;

  private KeyForgeries fill(boolean pinned) throws Exception {
    root = temp.resolve("store" + stores++);
    s = new AuditStore(root, Leases.REQUIRED, pinned);
    log = s.store.createLog(new LogName("jobs"));
    try (LogWriter writer = s.writer(log)) {
      LeaseStamp under = lease(s.key);
      s.settle(log, append(writer, under, "one"));
      s.settle(log, append(writer, under, "two"));
      append(writer, under, "open");
    }
    Id store = s.store.context().identity().id();
    return new KeyForgeries(root, log.context().layout().root().path(), store, s.key);
  }

  private LeaseStamp lease(SigningKey key) {
    return stamp(
        new WitnessSigner(key)
            .sign(s.first("unit" + leases++, s.clock.wallNanos() + 900 * SECOND)));
  }

  private static List<String> share(Map<String, Forgery> forgeries) {
    return Share.some(List.copyOf(forgeries.keySet()), 3);
  }

  private Log reopened() throws Exception {
    return Store.open(root, s.environment).log(log.name());
  }

  private List<Finding> findings() throws Exception {
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(root, s.environment, found::add);
    return found.stream().filter(f -> f.severity() == Finding.Severity.DAMAGE).toList();
  }

  private List<String> settled() throws Exception {
    var texts = new ArrayList<String>();
    reopened()
        .reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, file, why) -> {});
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

  @Test
  @Tag("share")
  void f3_noReaderGoesByKeysThatWereNotCounted() throws Exception {
    for (boolean pinned : new boolean[] {true, false}) {
      KeyForgeries names = fill(pinned);
      for (String name : share(names.damaging())) {
        Forgery forgery = requireNonNull(fill(pinned).damaging().get(name));
        assertEquals(List.of("one", "two"), settled());
        assertTrue(LeaseAuditor.audit(Store.open(root, s.environment)).passed());
        forgery.run();
        String what = name + (pinned ? ", pinned" : "");
        assertThrows(DamagedException.class, this::settled, what);
        assertThrows(DamagedException.class, this::live, what);
        assertFalse(findings().isEmpty(), what);
        assertFalse(LeaseAuditor.audit(Store.open(root, s.environment)).passed(), what);
        long now = s.clock.wallNanos();
        s.clock.sleepNanos(10 * SECOND);
        assertThrows(
            DamagedException.class,
            () -> reopened().horizon().advance(now, OptionalLong.of(now + 900 * SECOND)),
            what);
      }
    }
  }

  @Test
  @Tag("share")
  void f3_aKeyThatNoEarlierOneSignedCountsForNobody() throws Exception {
    for (boolean pinned : new boolean[] {true, false}) {
      KeyForgeries names = fill(pinned);
      for (String name : share(names.idle())) {
        Forgery forgery = requireNonNull(fill(pinned).idle().get(name));
        forgery.run();
        Path second = root.resolve("keys/0000000002");
        assertEquals(Name.of(second), findings().get(0).path(), name);
        try (LogWriter writer = reopened().writer(dev.cinch.bag.model.Durability.CLOSE)) {
          append(writer, lease(KeyForgeries.FORGER), "forged");
          assertEquals(List.of("one", "two", "open"), live(), name);
          s.settle(reopened(), append(writer, lease(KeyForgeries.FORGER), "forged too"));
        }
        assertEquals(List.of("one", "two", "open"), settled(), name);
        assertEquals(1, tip().trustedKeys(), name);
        Class<? extends Exception> told =
            name.equals("unsigned") ? DamagedException.class : KeyRefusedException.class;
        assertThrows(
            told,
            () -> TrustedKeyFiles.add(s.store.context(), SECOND_KEY.publicKey(), s.key),
            name);
      }
    }
  }

  private HorizonRecord tip() throws Exception {
    Link tip = reopened().horizon().chain().freshTip().orElseThrow();
    return tip.record();
  }

  @Test
  void f3_aKeyThatAnEarlierOneSignedCountsFromThenOn() throws Exception {
    for (boolean pinned : new boolean[] {true, false}) {
      KeyForgeries unused = fill(pinned);
      var e =
          assertThrows(
              KeyRefusedException.class, () -> TrustedKeyFiles.add(s.store.context(), SECOND_KEY));
      assertTrue(e.toString().contains("--signed-by"), e::toString);
      assertThrows(
          KeyRefusedException.class,
          () ->
              TrustedKeyFiles.add(s.store.context(), SECOND_KEY.publicKey(), KeyForgeries.FORGER));
      assertEquals(2, TrustedKeyFiles.add(s.store.context(), SECOND_KEY.publicKey(), s.key));
      assertEquals(2, TrustedKeyFiles.add(s.store.context(), SECOND_KEY));
      var third = SigningKey.ofSeed(Arrays.copyOf(new byte[] {3}, 32));
      assertEquals(3, TrustedKeyFiles.add(s.store.context(), third.publicKey(), SECOND_KEY));
      try (LogWriter writer = s.writer(log)) {
        s.settle(log, append(writer, lease(third), "three"));
      }
      assertEquals(List.of("one", "two", "open", "three"), settled());
      var keys = TrustedKeys.of(s.key.publicKey(), SECOND_KEY.publicKey(), third.publicKey());
      assertEquals(3, tip().trustedKeys());
      assertEquals(keys.digest(), tip().keysDigest());
      assertEquals(List.of(), findings());
    }
  }

  @Test
  void f3a_aCopiedWitnessCountsForWhoeverWroteUntilItsExpiryAndNoLonger() throws Exception {
    KeyForgeries unused = fill(true);
    SignedWitness signed = s.sign(s.first("unit", s.clock.wallNanos() + 20 * SECOND));
    try (LogWriter holder = s.writer(log);
        LogWriter copier = s.writer(log)) {
      append(holder, stamp(signed), "holder");
      append(copier, reckless(signed), "copier");
      s.clock.sleepNanos(20 * SECOND);
      s.settle(log, append(copier, reckless(signed), "late"));
    }
    assertEquals(List.of("one", "two", "open", "holder", "copier"), settled());
    assertEquals(List.of(), findings());
  }

  @Test
  void aStoreOfWhichNoMessagePassesIsAFinding() throws Exception {
    root = temp.resolve("none");
    s = new AuditStore(root, Leases.REQUIRED, true);
    log = s.store.createLog(new LogName("jobs"));
    try (LogWriter writer = s.writer(log)) {
      s.settle(log, append(writer, lease(KeyForgeries.FORGER), "forged"));
      assertEquals(log.context().layout().root(), findings().get(0).path());
      s.settle(log, append(writer, lease(s.key), "good"));
      assertEquals(List.of(), findings());
    }
  }

  @Test
  void aStoreOfAnotherFormatIsRefused() throws Exception {
    KeyForgeries unused = fill(true);
    Path settings = root.resolve("store.json");
    String text = Files.readString(settings);
    StoreEdits.replace(settings, text.replace(": 3,", ": 4,").getBytes(StandardCharsets.UTF_8));
    assertThrows(NewerFormatException.class, () -> Store.open(root, s.environment));
    StoreEdits.replace(settings, text.replace(": 3,", ": 2,").getBytes(StandardCharsets.UTF_8));
    var e = assertThrows(DamagedException.class, () -> Store.open(root, s.environment));
    assertEquals("store format 3", e.expected());
    assertEquals("2", e.actual());
  }

  @Test
  @Tag("share")
  void inAStoreThatAsksForNoLeasesNobodyIsStopped() throws Exception {
    for (String name : share(fill(true).damaging())) {
      root = temp.resolve("optional" + stores++);
      s = new AuditStore(root, Leases.OPTIONAL, true);
      log = s.store.createLog(new LogName("jobs"));
      try (LogWriter writer = s.writer(log)) {
        s.settle(log, append(writer, lease(s.key), "one"));
        s.settle(log, append(writer, LeaseStamp.NONE, "two"));
      }
      Id store = s.store.context().identity().id();
      var forgeries = new KeyForgeries(root, log.context().layout().root().path(), store, s.key);
      Map<String, Forgery> all = forgeries.damaging();
      if (name.contains("record")) {
        continue; // the chain itself is damaged then
      }
      requireNonNull(all.get(name)).run();
      assertEquals(List.of("one", "two"), settled(), name);
      assertEquals(List.of("one", "two"), live(), name);
      assertFalse(findings().isEmpty(), name);
      try (LogWriter writer = s.writer(log)) {
        s.settle(reopened(), append(writer, LeaseStamp.NONE, "three"));
      }
      assertEquals(List.of("one", "two", "three"), settled(), name);
    }
  }
}
