package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.LeaseUse;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What trails and the messages of a store do not agree about. */
final class TrailsTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long SLACK = 5 * SECOND;

  @TempDir Path temp;
  private final List<String> notes = new ArrayList<>();
  private int files;

  private static String line(String event, long second, String more) {
    return "{\"at\":\"x\",\"atNanos\":\"%d\",\"event\":\"%s\"%s}\n"
        .formatted(second * SECOND, event, more);
  }

  private static String of(String event, long second, Id lease) {
    return line(
        event,
        second,
        ",\"name\":\"a\",\"holder\":\"me\",\"correlation\":\"%s\",\"by\":\"token 1 (ci)\",\"from\":\"10.0.0.3:1\""
            .formatted(lease));
  }

  /** Granted in that second. */
  private static Id lease(long second) {
    return new Id(second * SECOND, 7);
  }

  private Trails trails(Id wanted, String... texts) throws Exception {
    var trails = new Trails("5af5", Set.of(wanted), notes::add);
    for (String text : texts) {
      trails.read(Files.writeString(temp.resolve("trail" + files++), text));
    }
    return trails;
  }

  /** What is found of a lease whose last message is of a second; empty if nothing. */
  private static String found(Trails trails, Id lease, long second) {
    var use =
        new LeaseUse(new LeaseName("a"), lease, Name.of(Path.of("data")), 12, second * SECOND);
    return trails.finding(use, SLACK).map(Trails.Finding::text).orElse("");
  }

  @Test
  void whatWasGrantedIsFine() throws Exception {
    Id lease = lease(10);
    String start = line("started", 5, ",\"store\":\"5af5\"");
    Trails trails = trails(lease, start + of("granted", 10, lease), of("released", 40, lease), "");
    assertEquals("", found(trails, lease, 44));
    assertEquals(
        "trail: 3 lines from 1970-01-01T00:00:05.000000000Z to 1970-01-01T00:00:40.000000000Z;"
            + " it has the grants of 1 of 1 leases; 0 findings",
        trails.text(Set.of(lease), 0));
    assertEquals(
        "lease %s: granted to \"me\" at 1970-01-01T00:00:10.000000000Z by token 1 (ci) from 10.0.0.3:1; released at 1970-01-01T00:00:40.000000000Z by token 1 (ci) from 10.0.0.3:1"
            .formatted(lease),
        trails.story(lease).orElseThrow());
    assertEquals(List.of(), notes);
  }

  @Test
  void aMessageAfterTheEndIsFoundUnlessTheLeaseWentOn() throws Exception {
    Id lease = lease(10);
    String granted = of("granted", 10, lease);
    Trails trails = trails(lease, granted + of("released", 40, lease));
    assertTrue(found(trails, lease, 46).startsWith("finding: data at byte 12: the message with"));
    assertTrue(found(trails, lease, 46).endsWith("ended at 1970-01-01T00:00:40.000000000Z"));
    String expired = of("expired", 40, lease);
    assertTrue(found(trails(lease, granted + expired), lease, 46).contains("ended at"));
    String moved = of("resumed", 20, lease);
    assertEquals("", found(trails(lease, granted + expired, moved), lease, 60));
    assertTrue(
        found(trails(lease, granted, moved + of("released", 40, lease)), lease, 60)
            .contains("ended at"));
    String resumed = of("resumed", 41, lease);
    assertEquals("", found(trails(lease, granted + expired, resumed), lease, 60));
    assertEquals("", found(trails(lease, granted + of("revoked", 20, lease)), lease, 60));
  }

  @Test
  void aLeaseThatNobodyGrantedIsFoundWhereTheTrailCoversItsTime() throws Exception {
    String whole = line("started", 5, "") + of("granted", 30, lease(1));
    for (long second : new long[] {6, 28}) {
      String found = found(trails(lease(second), whole), lease(second), second);
      assertTrue(found.contains(" which no trail has granted"), found);
    }
    for (long second : new long[] {4, 30, 31}) { // lines of one second may be out of order
      assertEquals("", found(trails(lease(second), whole), lease(second), second));
    }
    String ended = line("started", 5, "") + line("stopped", 30, "");
    assertTrue(found(trails(lease(30), ended), lease(30), 30).contains("no trail has granted"));
    String started = line("started", 5, "") + line("started", 20, "") + line("stopped", 30, "");
    assertEquals("", found(trails(lease(10), started), lease(10), 10)); // it was away
    String refused = line("started", 5, "") + of("refused", 8, lease(10)) + line("stopped", 30, "");
    assertTrue(found(trails(lease(10), refused), lease(10), 10).contains("no trail has granted"));
    String gap = line("started", 5, "") + line("left-out", 20, ",\"events\":1,\"refusals\":0");
    Trails left = trails(lease(10), gap + line("stopped", 30, ""));
    assertEquals("", found(left, lease(10), 10));
    assertTrue(left.text(Set.of(), 0).contains("; 1 events were left out; "));
    String torn = line("started", 5, "") + "{\"at\":" + of("granted", 30, lease(30));
    Trails full = trails(lease(10), torn + line("stopped", 40, ""));
    assertEquals("", found(full, lease(10), 10)); // a disk was full
    String flood = line("started", 5, "") + line("left-out", 20, ",\"events\":0,\"refusals\":9");
    assertTrue(found(trails(lease(10), flood), lease(10), 10).contains("no trail has granted"));
  }

  @Test
  void whatIsCutOffOrForeignIsSaid() throws Exception {
    Id lease = lease(10);
    String granted = of("granted", 10, lease);
    Trails torn = trails(lease, granted + granted.substring(0, 30));
    assertTrue(torn.text(Set.of(lease), 0).contains(" grants of 1 of 1 "));
    assertEquals(
        List.of(temp.resolve("trail0") + ": its last line is cut off, and is left out"), notes);
    notes.clear();
    Trails mixed = trails(lease, "nonsense\n[]\n{\"event\":1}\n" + granted);
    assertTrue(mixed.text(Set.of(lease), 0).contains("trail: 1 lines "));
    assertEquals(
        List.of(temp.resolve("trail1") + ": lines that are none of a trail, and are left out: 3"),
        notes);
    assertThrows(Failure.Refusal.class, () -> trails(lease, "nonsense\n"));
    assertThrows(
        Failure.Refusal.class, () -> trails(lease, line("started", 1, ",\"store\":\"0\"")));
  }
}
