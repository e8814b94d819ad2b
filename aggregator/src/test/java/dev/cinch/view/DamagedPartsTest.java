package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.PassingObjects;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Where the object that names the parts of a segment is damaged. */
class DamagedPartsTest {
  private final ManualTime time = ManualTime.ticking();
  private final FakeObjects fake = new FakeObjects(time);
  private final Storage storage = Rig.objects(fake, PassingObjects::new, time);

  private Log filled(String name) throws Exception {
    Store store = Rig.open(storage, time, "a");
    Log log = store.createLog(new LogName(name));
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      for (int i = 0; i < 3; i++) {
        var random = new byte[500];
        new java.util.Random(i).nextBytes(random);
        assertInstanceOf(Receipt.Committed.class, writer.append(random));
      }
    }
    time.advanceNanos(10_000_000_000L);
    var unused = log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
    assertEquals(1, new Aggregator(log).run().published());
    return log;
  }

  private void damage(String key) throws IOException {
    byte[] bytes = fake.get(key, 0, Integer.MAX_VALUE / 2).bytes();
    assertTrue(new String(bytes, 0, 12, "US-ASCII").equals("cinch parts "), key);
    bytes[bytes.length - 3] ^= 1;
    fake.delete(key);
    assertTrue(fake.put(key, ByteBuffer.wrap(bytes)));
  }

  /** Verify tells damage and goes on: also to the logs behind it. */
  @Test
  void verifyTellsADamagedHeadAndGoesOn() throws Exception {
    Log first = filled("a");
    Log second = filled("b");
    damage("s/logs/" + first.name() + "/segments/0000000001");
    damage("s/logs/" + second.name() + "/segments/0000000001");
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(Rig.open(storage, time, "v"), found::add);
    List<String> damaged =
        found.stream()
            .filter(f -> f.severity() == Finding.Severity.DAMAGE)
            .map(Finding::toString)
            .toList();
    for (Log log : Arrays.asList(first, second)) {
      assertTrue(
          damaged.stream().anyMatch(f -> f.contains("logs/" + log.name() + "/segments/")),
          damaged.toString());
    }
  }

  /** And to what else there is of that log. */
  @Test
  void verifyGoesOnInTheSameLog() throws Exception {
    Log log = filled("a");
    damage("s/logs/" + log.name() + "/segments/0000000001");
    String lock =
        Arrays.stream(fake.toString().split("\n"))
            .map(line -> line.split(" ")[0])
            .filter(key -> key.endsWith("/lock"))
            .findFirst()
            .orElseThrow();
    damage(lock);
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(Rig.open(storage, time, "v"), found::add);
    assertTrue(found.stream().anyMatch(f -> f.toString().contains("/segments/")), "" + found);
    assertTrue(found.stream().anyMatch(f -> f.toString().contains("/lock")), "" + found);
  }

  /** What lies behind the floor counts for nothing, so its damage stops nobody who deletes it. */
  @Test
  void whatExpiredGoesThoughItIsDamaged() throws Exception {
    Log log = filled("a");
    for (int i = 0; i < 2; i++) {
      try (LogWriter writer = log.writer(Durability.SYNC)) {
        var random = new byte[500];
        new java.util.Random(i).nextBytes(random);
        assertInstanceOf(Receipt.Committed.class, writer.append(random));
      }
      time.advanceNanos(10_000_000_000L);
      var unused = log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
      assertEquals(1, new Aggregator(log).run().published());
    }
    time.advanceNanos(Duration.ofDays(2).toNanos());
    new Retention(log, Duration.ZERO).run();
    var killed =
        Rig.objects(
            fake,
            objects ->
                new PassingObjects(objects) {
                  @Override
                  public void delete(String key) throws IOException {
                    if (key.contains("/segments/")) {
                      throw new IOException("killed");
                    }
                    super.delete(key);
                  }
                },
            time);
    Log other = Rig.open(killed, time, "k").log(log.name());
    assertThrows(IOException.class, () -> new Expiry(other, Duration.ZERO).run(name -> {}));
    damage("s/logs/a/segments/0000000001");
    new Expiry(log, Duration.ZERO).run(name -> {});
    assertFalse(fake.toString().contains("segments/0000000001"), fake.toString());
  }
}
