package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.LOG_A;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.instance.Rig.wrote;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.table.TableLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Rules L4 and L7, and listing. */
final class MemoryRulesTest {
  private static final long RETENTION_MS = 60_000;

  /** For three names. */
  private final Rig tiny =
      new Rig(new TableLimits(3, Long.MAX_VALUE, RETENTION_MS * MS, 1_000 * MS, 3_600_000 * MS, 3));

  @Test
  void l4_forgottenLeasesLeaveTheirWatermarkAndFenceToUnknownNames() throws Exception {
    tiny.service.release(tiny.acquire("a").id(), wrote(START + 9));
    long expiry = tiny.acquire("b").expiry();
    tiny.service.release(tiny.acquire("c").id(), wrote(START + 7));
    tiny.time.advanceMs(LEASE_MS + RETENTION_MS);
    Witness w = only(tiny.acquire("new"));
    assertTrue(tiny.service.list("", Optional.empty(), 10).size() <= 3);
    // Which ones were forgotten is the table's business; a and b come first in this one.
    assertEquals(Optional.empty(), tiny.service.show(new LeaseName("a")));
    assertEquals(START + 9, w.watermark().timestamp());
    assertEquals(Ending.UNKNOWN, w.previousEnding());
    assertEquals(Optional.empty(), w.previous());
    Witness b = only(tiny.acquire("a", "b").witnesses().stream().skip(1).toList());
    assertEquals(expiry, b.fence().upTo());
    assertEquals(LogSet.of(List.of(LOG_A)), b.fence().logs());
    assertTrue(b.generation() > 1, "generations do not start over");
  }

  @Test
  void l4_forgettingNeverLowersALowerBound() throws Exception {
    var rig = new Rig(new TableLimits(8, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0));
    var random = new java.util.Random(11);
    var bounds = new java.util.HashMap<String, Long>();
    for (int i = 0; i < 2_000; i++) {
      rig.time.advanceMs(random.nextInt(3_000));
      String name = "n" + random.nextInt(30);
      Grant grant;
      try {
        grant = rig.acquire(name);
      } catch (dev.cinch.lease.LeaseRefusedException e) {
        continue;
      }
      Witness w = only(grant);
      long bound = bounds.getOrDefault(name, Long.MIN_VALUE);
      assertTrue(w.lowerBound() >= bound, () -> name + ": " + w + " below " + bound);
      if (random.nextBoolean()) {
        long wrote = Math.max(w.lowerBound() + 1, rig.service.now());
        rig.service.release(grant.id(), wrote(wrote));
        bounds.put(name, wrote);
      } else {
        bounds.put(name, grant.expiry());
      }
    }
  }

  @Test
  void l4_heldLeasesAreNeverForgottenAndNoMoreAreTaken() throws Exception {
    Grant held = tiny.acquire("a", "b", "c");
    refused(Reason.NOT_YET, () -> tiny.acquire("d"));
    tiny.service.release(held.id(), LeaseReport.NOTHING);
    tiny.time.advanceMs(1_000);
    assertEquals(1, tiny.acquire("d").witnesses().size());
  }

  @Test
  void l4_longNamesAndMetadataAreBoundedByTheirBytes() throws Exception {
    var rig = new Rig(new TableLimits(1_000_000, 60_000, 0, 1_000 * MS, 3_600_000 * MS, 8));
    var grants = new ArrayList<Grant>();
    var e =
        assertThrows(
            LeaseRefusedException.class,
            () -> {
              for (int i = 0; i < 1_000; i++) {
                grants.add(rig.acquire("n" + i + "/x".repeat(100)));
              }
            });
    assertEquals(Reason.NOT_YET, e.reason());
    assertEquals(80, grants.size(), 30);
    // Renewals go on; what is only a hint is not kept beyond the bound.
    var long8 = new ArrayList<LeaseReport.Metadata>();
    for (int i = 0; i < 8; i++) {
      long8.add(new LeaseReport.Metadata(LOG_A, i, "f".repeat(255)));
    }
    int kept = 0;
    for (Grant grant : grants) {
      var unused = rig.renew(grant, new LeaseReport(OptionalLong.empty(), false, long8));
      kept += rig.service.show(only(grant).name()).orElseThrow().recent().size();
    }
    assertTrue(kept > 0 && kept <= 16, "" + kept);
    for (Grant grant : grants) {
      rig.service.release(grant.id(), LeaseReport.NOTHING);
    }
    rig.time.advanceMs(2_000);
    assertEquals(1, rig.acquire("new").witnesses().size());
  }

  /** Also of names that are known, which take no new room by themselves. */
  @Test
  void l4_logsAreBoundedByTheirBytes() throws Exception {
    var rig = new Rig(new TableLimits(1_000_000, 600_000, 0, 1_000 * MS, 3_600_000 * MS, 8));
    LogSet many = LogSet.of(LongStream.range(0, 1_000).mapToObj(i -> new Id(0, i)).toList());
    var grants = new ArrayList<Grant>();
    for (int i = 0; i < 20; i++) {
      grants.add(rig.acquire("n" + i));
    }
    int widened = 0;
    for (Grant grant : grants) {
      try {
        var unused = rig.service.renew(grant.id(), LEASE_MS, many, LeaseReport.NOTHING);
        widened++;
      } catch (LeaseRefusedException e) {
        assertEquals(Reason.NOT_YET, e.reason());
        var goesOn = rig.renew(grant, LeaseReport.NOTHING);
      }
    }
    assertEquals(7, widened, 4);
    for (Grant grant : grants) {
      rig.service.release(grant.id(), LeaseReport.NOTHING);
    }
    int held = 0;
    for (int i = 0; i < 20; i++) {
      Operation.Acquire one = rig.request("n" + i);
      var wide = new Operation.Acquire(one.id(), one.names(), "tester", LEASE_MS, many, false);
      try {
        var unused = rig.service.acquire(wide);
        held++;
      } catch (LeaseRefusedException e) {
        assertEquals(Reason.NOT_YET, e.reason());
      }
    }
    assertEquals(7, held, 5);
    assertEquals(1, rig.acquire("n19").witnesses().size());
  }

  @Test
  void l4_theDefaultsFollowTheHeap() {
    TableLimits two = TableLimits.forHeap(2L << 30);
    assertEquals(2_732_000, two.maxEntries(), 1_000);
    assertTrue(TableLimits.forHeap(768L << 20).maxEntries() >= 1_000_000);
    assertEquals((2L << 30) / 3 * 2, two.maxBytes());
    assertEquals(1, TableLimits.forHeap(0).maxEntries());
  }

  @Test
  void l4_aRecentExpiryIsNotForgotten() throws Exception {
    var unused = tiny.acquire("a", "b", "c");
    tiny.time.advanceMs(LEASE_MS);
    refused(Reason.NOT_YET, () -> tiny.acquire("d"));
    tiny.time.advanceMs(RETENTION_MS);
    assertEquals(1, tiny.acquire("d").witnesses().size());
  }

  @Test
  void l4_aGrantWhoseNameWasForgottenIsNotHeld() throws Exception {
    Grant grant = tiny.acquire("a");
    tiny.time.advanceMs(LEASE_MS + RETENTION_MS);
    var unused = tiny.acquire("x", "y", "z");
    refused(Reason.NOT_HELD, () -> tiny.renew(grant, LeaseReport.NOTHING));
  }

  @Test
  void l4_theIdsOfEndedGrantsAreBounded() throws Exception {
    for (int i = 0; i < 2_000; i++) {
      tiny.service.release(tiny.acquire("a").id(), LeaseReport.NOTHING);
      tiny.time.advanceMs(20); // of the minute that they are kept otherwise
    }
    assertTrue(tiny.service.grantsRemembered() < 100, "" + tiny.service.grantsRemembered());
  }

  @Test
  void l7_theNewestMetadataIsKept() throws Exception {
    Grant grant = tiny.acquire("a");
    var unused = tiny.renew(grant, metadata(1, 2));
    unused = tiny.renew(grant, metadata(2));
    assertEquals(List.of(2L, 1L), buckets("a"));
    tiny.service.release(grant.id(), metadata(4, 3));
    assertEquals(List.of(4L, 3L, 2L), buckets("a"));
    Grant next = tiny.acquire("a");
    assertEquals(List.of(4L, 3L, 2L), buckets("a"), "also for the next holder");
    tiny.service.release(next.id(), LeaseReport.NOTHING);
    assertEquals(List.of(4L, 3L, 2L), buckets("a"));
  }

  @Test
  void l7_metadataOutOfRangeIsRefused() throws Exception {
    Grant grant = tiny.acquire("a");
    var many = new ArrayList<LeaseReport.Metadata>();
    for (int i = 0; i < 101; i++) {
      many.add(new LeaseReport.Metadata(LOG_A, i, "f"));
    }
    for (List<LeaseReport.Metadata> wrong :
        List.of(
            many,
            List.of(new LeaseReport.Metadata(LOG_A, 1, "")),
            List.of(new LeaseReport.Metadata(LOG_A, 1, "f".repeat(256))),
            List.of(new LeaseReport.Metadata(LOG_A, 1, "a\ud800")))) {
      refused(
          Reason.INVALID,
          () -> tiny.renew(grant, new LeaseReport(OptionalLong.empty(), false, wrong)));
    }
  }

  @Test
  void moreLogsThanAWitnessHoldsAreRefused() throws Exception {
    var logs = new ArrayList<Id>();
    for (int i = 0; i < 1_001; i++) {
      logs.add(new Id(9, i));
    }
    Operation.Acquire r = tiny.request("a");
    refused(
        Reason.INVALID,
        () ->
            tiny.service.acquire(
                new Operation.Acquire(
                    r.id(), r.names(), r.holder(), LEASE_MS, LogSet.of(logs), false)));
    Grant grant = tiny.service.acquire(r);
    refused(
        Reason.INVALID,
        () ->
            tiny.service.renew(
                grant.id(), LEASE_MS, LogSet.of(logs.subList(0, 1_000)), LeaseReport.NOTHING));
    Grant all = tiny.service.renew(grant.id(), LEASE_MS, LogSet.ALL, LeaseReport.NOTHING);
    assertEquals(LogSet.ALL, only(all).logs());
    assertEquals(Fence.NONE, only(all).fence());
  }

  @Test
  void pagesFollowEachOtherInAscendingOrder() throws Exception {
    var rig = new Rig();
    for (int i = 0; i < 100; i++) {
      var unused = rig.acquire("p/" + i, "q/" + i);
    }
    var seen = new ArrayList<String>();
    Optional<LeaseName> after = Optional.empty();
    while (true) {
      List<LeaseInfo> page = rig.service.list("p/", after, 7);
      page.forEach(i -> seen.add(i.witness().name().value()));
      if (page.size() < 7) {
        break;
      }
      after = Optional.of(page.get(6).witness().name());
    }
    assertEquals(100, seen.size());
    assertEquals(seen.stream().sorted().toList(), seen);
    assertEquals(List.of(), rig.service.list("p/", Optional.of(new LeaseName("z")), 5));
    assertThrows(IllegalArgumentException.class, () -> rig.service.list("", Optional.empty(), 0));
  }

  private static Witness only(Grant grant) {
    return Rig.only(grant);
  }

  private static Witness only(List<dev.cinch.lease.SignedWitness> witnesses) {
    assertEquals(1, witnesses.size());
    return witnesses.get(0).witness();
  }

  private static LeaseReport metadata(long... buckets) {
    var all = new ArrayList<LeaseReport.Metadata>();
    for (long bucket : buckets) {
      all.add(new LeaseReport.Metadata(LOG_A, bucket, "f"));
    }
    return new LeaseReport(OptionalLong.empty(), false, all);
  }

  private List<Long> buckets(String name) throws LeaseUnavailableException {
    return tiny.service.show(new LeaseName(name)).orElseThrow().recent().stream()
        .map(LeaseReport.Metadata::bucketStart)
        .toList();
  }

  @Test
  void l4_ofTheLogsOfWhatWasForgottenNoMoreAreKeptThanAWitnessNames() {
    var fence = new Fence(5, LogSet.of(List.of(new Id(1, 1))));
    Inheritance kept = Inheritance.origin(Ending.NONE, Fence.NONE);
    for (int i = 0; i < 1_000; i++) {
      kept = kept.orForgotten(Inheritance.origin(Ending.BROKEN, fence));
      fence = new Fence(6 + i, LogSet.of(List.of(new Id(2, i))));
    }
    assertEquals(1_000, kept.fence().logs().ids().size());
    kept = kept.orForgotten(Inheritance.origin(Ending.BROKEN, fence));
    assertEquals(new Fence(fence.upTo(), LogSet.ALL), kept.fence());
  }
}
