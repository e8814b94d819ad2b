package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code cat} of one lease name, and of its last lease. */
final class CatLeaseTest {
  @TempDir private Path temp;

  private static List<Path> dataFiles(Path store) throws IOException {
    try (Stream<Path> files = Files.walk(store.resolve("logs/jobs/buckets"))) {
      return files.filter(f -> f.toString().endsWith(".log")).sorted().toList();
    }
  }

  @Test
  void l7_theLastLeaseIsReadWithoutWhatIsEarlierAndOnlyByTheLatestInstance() throws Exception {
    Path store = Cinch.quickStore(temp);
    try (Forked server = Forked.serveHere(temp, store)) {
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", server.listening());
      cinch.feed("a\n", "append", "--log=jobs", "--lease=one").ended(0);
      cinch.feed("-\n", "append", "--log=jobs", "--lease=two").ended(0);
      cinch.settle("jobs");
      Path first = dataFiles(store).get(0).resolveSibling("lock");
      cinch.appendBehind("b\n", "append", "--log=jobs", "--lease=one");
      cinch.settle("jobs");
      cinch.appendBehind("c\n", "append", "--log=jobs", "--lease=one");
      cinch.appendBehind("-\n", "append", "--log=jobs");
      String[] all = {"cat", "--log=jobs", "--lease=one", "--live"};
      String[] last = {"cat", "--log=jobs", "--lease=one", "--live", "--last-lease"};
      assertEquals("a\nb\nc\n", cinch.run(all).ended(0).out());
      assertEquals("a\nb\nc\n", Cinch.on(store).run(all).ended(0).out());
      assertEquals("a\nb\n", cinch.run("cat", "--log=jobs", "--lease=one").ended(0).out());
      assertEquals("c\n", cinch.run(last).ended(0).out());
      cinch.run("cat", "--log=jobs", "--lease=one", "--tail=1").failed(2, "--tail");
      Cinch.on(store).run(last).failed(2, "--last-lease needs");
      cinch
          .run("cat", "--log=jobs", "--lease=none", "--last-lease")
          .failed(3, "knows no lease on none");

      // What is damaged is not read, if it is earlier than the last lease.
      byte[] bytes = Files.readAllBytes(first);
      bytes[bytes.length / 2] ^= 1;
      assertTrue(first.toFile().setWritable(true));
      Files.write(first, bytes);
      assertEquals(1, cinch.run(all).code());
      assertEquals("c\n", cinch.run(last).ended(0).out());

      // A later instance may have granted the name since.
      var opened =
          Store.open(store, Store.Environment.of(new MachineName("later"), SystemTime.INSTANCE));
      var key = SigningKey.load(temp.resolve("served.key"));
      assertEquals(2, new StoreInstances(opened.context(), key).takeNumber());
      cinch.run(last).failed(3, "knows no lease on one");
    }
  }

  /** Where leases are optional, what an audit calls a violation is not what the lease permits. */
  @Test
  void f3_whatTheLeaseDoesNotPermitIsLeftOut() throws Exception {
    var s = new AuditStore(temp.resolve("store"), Leases.OPTIONAL);
    Log jobs = s.store.createLog(new LogName("jobs"));
    long expiry = s.clock.wallNanos() + 60 * AuditStore.SECOND;
    Witness all = s.first("one", expiry);
    long now = s.clock.wallNanos();
    var told = new Watermark(now + 3600 * AuditStore.SECOND, now, now);
    SignedWitness good = s.sign(with(all, LogSet.of(List.of(jobs.id())), Watermark.NONE));
    SignedWitness elsewhere = s.sign(with(all, LogSet.of(List.of(new Id(1, 2))), Watermark.NONE));
    SignedWitness ahead = s.sign(with(s.first("one", 2 * told.timestamp()), LogSet.ALL, told));
    SignedWitness other = s.sign(with(s.first("two", expiry), LogSet.NONE, Watermark.NONE));
    try (LogWriter writer = s.writer(jobs)) {
      long unused = AuditStore.append(writer, AuditStore.reckless(good), "permitted");
      unused = AuditStore.append(writer, AuditStore.reckless(elsewhere), "of another log");
      unused = AuditStore.append(writer, AuditStore.reckless(ahead), "below its watermark");
      unused = AuditStore.append(writer, AuditStore.reckless(good, other), "not by the second");
      s.clock.sleepNanos(30 * AuditStore.SECOND);
      unused = AuditStore.append(writer, AuditStore.reckless(ahead), "its watermark");
      s.settle(jobs, AuditStore.append(writer, AuditStore.reckless(good), "permitted too"));
    }
    Cinch cinch = Cinch.on(temp.resolve("store"));
    for (String range : List.of("--from=2026-01-01T00:00:00Z", "--live")) {
      Cinch.Ran ran = cinch.run("cat", "--log=jobs", "--lease=one", range).ended(0);
      assertEquals("permitted\npermitted too\n", ran.out());
    }
    Cinch.Ran both = cinch.run("cat", "--lease=one", "--from=2026-01-01T00:00:00Z").ended(0);
    assertEquals("permitted\npermitted too\n", both.out());
    String audited = cinch.run("audit").ended(1).out();
    assertEquals(4, audited.lines().filter(l -> l.contains("the message with")).count(), audited);
  }

  private static Witness with(Witness w, LogSet logs, Watermark watermark) {
    return Altered.with(
        w,
        "logs",
        logs,
        "watermark",
        watermark,
        "time",
        watermark.equals(Watermark.NONE)
            ? w.time()
            : new TimeBound(w.issuedAt(), w.issuedAt(), TimeBound.Kind.MEASURED));
  }
}
