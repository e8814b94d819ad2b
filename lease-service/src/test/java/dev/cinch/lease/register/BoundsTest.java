package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What requests make the servers of a cell remember, which is bounded. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // each test starts its own
final class BoundsTest {
  private static final long SECOND = 1_000_000_000;

  @TempDir Path temp;
  private LoopbackCell cell;
  private RegisterBackend backend;
  private Rig rig;

  private void start(long rowBytes, long grantBytes) throws IOException {
    cell =
        new LoopbackCell(
            temp,
            new PaxosLease(60 * SECOND, 500, 180 * SECOND),
            true,
            new CellSettings(1_400, 100_000_000, 2_000_000, 1_024, 16_384, 262_144, rowBytes));
    var register = new CellRegister(cell.node(1), RandomGenerator.of("L64X128MixRandom"));
    var on = RegisterBackend.on(register, ManualTime.START, 60_000, 1_000, grantBytes);
    rig =
        new Rig(
            setting -> {
              backend = (RegisterBackend) on.create(setting);
              return backend;
            });
  }

  @AfterEach
  void stop() throws IOException {
    cell.close();
  }

  private static LeaseRefusedException refused(Reason reason, Executable what) {
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, what);
    assertEquals(reason, e.reason(), e::getMessage);
    return e;
  }

  /** Takes leases of names that nobody had before until it is refused; returns why. */
  private String fill(List<Grant> taken) throws LeaseUnavailableException {
    for (int i = 0; i < 10_000; i++) {
      String name = "jobs/" + taken.size();
      try {
        taken.add(rig.acquire(name));
      } catch (LeaseRefusedException e) {
        assertEquals(Reason.NOT_YET, e.reason(), e::getMessage);
        return String.valueOf(e.getMessage());
      }
    }
    return "";
  }

  private int rows() {
    return cell.node(1).status().join().rows();
  }

  @Test
  void l4_nodesTakeNoMoreNamesThanTheyHaveRoomFor() throws Exception {
    start(40_000, 1 << 20);
    var taken = new ArrayList<Grant>();
    String why = fill(taken);
    assertTrue(why.contains("the nodes of the cell remember as many names as they may"), why);
    int names = taken.size();
    assertTrue(names > 20 && names < 1_000, () -> "" + names);
    // Who has a lease goes on, and gives it back.
    Grant renewed =
        rig.service.renew(taken.get(0).id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    assertEquals(1, renewed.witnesses().size());
    rig.service.release(taken.get(0).id(), LeaseReport.NOTHING);
    assertEquals(1, rig.acquire("jobs/0").witnesses().size());
    // Names go once their time is over, and others have room: at a majority, whose threads it
    // takes.
    while (List.of(1, 2, 3).stream().anyMatch(id -> cell.node(id).status().join().rows() > 0)) {
      cell.forward(SECOND);
    }
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(1, rig.acquire("another").witnesses().size());
  }

  /** What is asked of names that nobody has is promised, and nothing accepted. */
  @Test
  void l4_questionsForNamesThatNobodyHasTakeNoRoomFromOthers() throws Exception {
    start(20_000, 1 << 20);
    for (int i = 0; i < 1_000; i++) {
      var none = new LeaseName("none/" + i);
      refused(
          Reason.NOT_HELD,
          () -> rig.service.revoke(new Operation.Revoke(none, "for a test", Optional.empty())));
    }
    assertTrue(rows() <= 300, () -> "" + rows());
    assertEquals(1, rig.acquire("a").witnesses().size());
  }

  @Test
  void l4_aServerRemembersNoMoreGrantsThanItHasRoomFor() throws Exception {
    start(1 << 24, 20_000);
    var taken = new ArrayList<Grant>();
    String why = fill(taken);
    assertTrue(why.contains("this server remembers as many grants as it may"), why);
    assertTrue(backend.grantsRemembered() < 200);
    rig.service.release(taken.get(0).id(), LeaseReport.NOTHING);
    assertEquals(1, rig.acquire("jobs/0").witnesses().size());
    rig.time.advanceMs(Rig.LEASE_MS + 1_000); // those that ended make room at once
    assertEquals(1, rig.acquire("another").witnesses().size());
  }

  @Test
  void l4_idsOfGrantsThatNobodyKnowsAreForgottenWhereThereAreTooMany() throws Exception {
    start(1 << 24, 64_000);
    Operation.Acquire last = rig.request("a");
    for (long i = 0; i < 5_000; i++) {
      var id = new Id(i, i);
      refused(Reason.NOT_HELD, () -> rig.service.release(id, LeaseReport.NOTHING));
    }
    refused(Reason.NOT_HELD, () -> rig.service.release(last.id(), LeaseReport.NOTHING));
    assertTrue(backend.idsRemembered() <= 100, () -> "" + backend.idsRemembered());
    refused(Reason.NOT_HELD, () -> rig.service.acquire(last)); // it was given up a moment ago
    rig.time.advanceMs(121_000);
    rig.service.maintain();
    assertEquals(0, backend.idsRemembered());
  }
}
