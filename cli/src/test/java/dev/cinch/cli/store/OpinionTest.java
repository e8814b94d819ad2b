package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.format.Envelope;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Closing after a rest of more than an hour asks for a third opinion on the time (section 5). */
class OpinionTest {
  private static final long HOUR = 3_600_000_000_000L;

  @TempDir Path temp;

  /** Makes a log, and makes it look as if that had been long ago. */
  private static void oldLog(Cinch cinch, Path store, String name, long age) throws IOException {
    cinch.feed("", "append", "--log", name).ended(0);
    Path identity = store.resolve("logs").resolve(name).resolve("identity");
    byte[] bytes = Files.readAllBytes(identity);
    int line = 0;
    while (bytes[line] != '\n') {
      line++;
    }
    var document =
        (ObjectNode) new ObjectMapper().readTree(Arrays.copyOfRange(bytes, line, bytes.length));
    document.put("created", document.get("created").longValue() - age);
    Files.write(identity, Envelope.encode("log", document));
  }

  private static LeaseServer server(long offset) throws Exception {
    ServiceInstance service =
        ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), new SystemTime(offset))
            .fresh(true)
            .start();
    return LeaseServer.builder(service, service::info).port(0).start();
  }

  @Test
  void aLongRestNeedsTheServiceOrTheOperator() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    oldLog(cinch, store, "one", 2 * HOUR);
    oldLog(cinch, store, "two", 2 * HOUR);
    cinch
        .run("close", "--log=one")
        .failed(3, "or confirm the present time yourself (--server or --trust-clock)");
    cinch.run("close", "--log=one", "--server=http://127.0.0.1:1").failed(4, "can't connect");
    try (LeaseServer late = server(-2 * HOUR)) {
      cinch
          .run("close", "--log=one", "--server=" + late.uri())
          .failed(3, "it says the present is ");
    }
    cinch.run("close", "--log=one", "--trust-clock", "--clock-offset=3h").failed(3, "clock is");
    assertEquals("", cinch.run("cat", "--log=one").ended(0).out());
    try (var records = Files.list(store.resolve("logs/one/horizon/records"))) {
      assertEquals(0, records.count()); // every refusal left the horizon where it was
    }
    try (LeaseServer right = server(0)) {
      Cinch.Ran ran = cinch.run("close", "--log=one", "--server=" + right.uri()).ended(0);
      assertTrue(ran.out().startsWith("one: settled through "), ran.out());
    }
    Cinch.Ran ran = cinch.run("close", "--log=two", "--trust-clock").ended(0);
    assertTrue(ran.out().startsWith("two: settled through "), ran.out());
    cinch.run("close").ended(0); // and from then on by itself
  }

  /** The newest messages were written two hours ago, and nobody closed since. */
  @Test
  void whatWasWrittenBeforeALongRestIsSettledByItself() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    for (String log : List.of("a", "b", "c", "d")) {
      cinch.overdue(log, log + "\n", Duration.ofHours(2));
    }
    Cinch.Ran ran =
        cinch.run("close").failed(3, "a, b, c and 1 more: this would settle 2.0 h past");
    List<String> said = ran.out().lines().toList();
    assertEquals(4, said.size(), ran.out());
    assertTrue(said.get(0).startsWith("a: settled through "), ran.out());
    assertTrue(said.get(0).endsWith(" (record 1, 1 bucket closed)"), ran.out());
    assertEquals("b\n", cinch.run("cat", "--log=b").ended(0).out());
    String none = "a, b, c and 1 more: ";
    assertEquals("", cinch.run("close").failed(3, none).out()); // no further, and it says so again
    cinch.run("close", "--server=http://127.0.0.1:1").failed(4, "can't connect");
    try (LeaseServer right = server(0)) {
      Cinch.Ran all = cinch.run("close", "--server=" + right.uri()).ended(0);
      assertEquals(4, all.out().lines().count(), all.out());
    }
    assertEquals("", cinch.run("verify").ended(0).err());
  }

  @Test
  void aLogThatCannotBeClosedKeepsNoOtherFromIt() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    oldLog(cinch, store, "one", 2 * HOUR);
    oldLog(cinch, store, "two", HOUR - 60_000_000_000L);
    Cinch.Ran ran = cinch.run("close").failed(3, "one: ");
    assertTrue(ran.out().startsWith("two: settled through "), ran.out());
  }
}
