package dev.cinch.lease.table;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import java.util.List;
import java.util.Optional;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/** What two threads ask of a table at once. */
public final class LeaseTableRace {
  private static final Id ONE = new Id(1, 1);
  private static final Id OTHER = new Id(2, 2);
  private static final Moment NOW = Rig.at(0);

  private LeaseTableRace() {}

  /** A small one. */
  abstract static class Table {
    final MemoryLeases table =
        new MemoryLeases(
            new TableLimits(400, Long.MAX_VALUE, 1_000, 1_000, 1_000, 0),
            1,
            Inheritance.origin(Ending.NONE, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());

    boolean isGranted(Id id, String... names) {
      List<LeaseName> wanted = Rig.names(names);
      var request = new Operation.Acquire(id, wanted, "h", 1_000, LogSet.ALL, false);
      try {
        return table.acquire(request, NOW, Long.MAX_VALUE).size() == names.length;
      } catch (LeaseRefusedException e) {
        return false;
      } catch (UnendedException e) {
        throw new AssertionError(e);
      }
    }

    boolean isHeld(String name) {
      return table.show(new LeaseName(name), Rig.at(0)).stream()
          .anyMatch(i -> i.state().excludes());
    }
  }

  /** Rule L1: one of two grants of a name. */
  @JCStressTest
  @Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "one has it")
  @Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the other has it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both, or neither")
  @State
  public static class SameName extends Table {
    @Actor
    public void one(ZZ_Result r) {
      r.r1 = isGranted(ONE, "a");
    }

    @Actor
    public void other(ZZ_Result r) {
      r.r2 = isGranted(OTHER, "a");
    }
  }

  /** All or nothing, in whatever order the names are asked for, and nobody waits in a ring. */
  @JCStressTest
  @Outcome(id = "true, false, true", expect = Expect.ACCEPTABLE, desc = "one has both")
  @Outcome(id = "false, true, true", expect = Expect.ACCEPTABLE, desc = "the other has both")
  @Outcome(expect = Expect.FORBIDDEN, desc = "they share, or neither has any")
  @State
  public static class Ring extends Table {
    @Actor
    public void one(ZZZ_Result r) {
      r.r1 = isGranted(ONE, "a", "b");
    }

    @Actor
    public void other(ZZZ_Result r) {
      r.r2 = isGranted(OTHER, "b", "a");
    }

    @Arbiter
    public void held(ZZZ_Result r) {
      r.r3 = isHeld("a") && isHeld("b");
    }
  }

  /** The same request twice is one grant. */
  @JCStressTest
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "both are told of the grant")
  @Outcome(expect = Expect.FORBIDDEN, desc = "its own lease stands in the way of one of them")
  @State
  public static class SameRequest extends Table {
    @Actor
    public void first(ZZ_Result r) {
      r.r1 = isGranted(ONE, "a");
    }

    @Actor
    public void again(ZZ_Result r) {
      r.r2 = isGranted(ONE, "a");
    }
  }

  /** What was given back before it came is not granted: nobody would give it back again. */
  @JCStressTest
  @Outcome(id = "false", expect = Expect.ACCEPTABLE, desc = "the name is free")
  @Outcome(expect = Expect.FORBIDDEN, desc = "nobody knows that it is held")
  @State
  public static class GivenBack extends Table {
    @Actor
    public void acquire() {
      boolean unused = isGranted(ONE, "a");
    }

    @Actor
    public void release() {
      try {
        table.release(new Operation.Release(ONE, LeaseReport.NOTHING), NOW);
      } catch (LeaseRefusedException e) {
        // it has not come yet
      }
    }

    @Arbiter
    public void held(Z_Result r) {
      r.r1 = isHeld("a");
    }
  }

  /** A list is made without one lock over all names; each lease in it is one that there was. */
  @JCStressTest
  @Outcome(id = "true", expect = Expect.ACCEPTABLE, desc = "as it was before or after")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half of each")
  @State
  public static class Listing extends Table {
    public Listing() {
      boolean unused = isGranted(ONE, "a") && isGranted(OTHER, "b");
    }

    @Actor
    public void change() {
      try {
        var unused =
            table.renew(
                new Operation.Renew(ONE, 2_000, LogSet.NONE, LeaseReport.NOTHING),
                Rig.at(7),
                Long.MAX_VALUE);
      } catch (LeaseRefusedException e) {
        throw new AssertionError(e);
      }
    }

    @Actor
    public void list(Z_Result r) {
      List<LeaseInfo> all = table.list("", Optional.empty(), 10, Rig.at(0));
      r.r1 = all.size() == 2 && isWhole(all.get(0)) && isWhole(all.get(1));
    }

    private static boolean isWhole(LeaseInfo info) {
      long issued = info.witness().issuedAt();
      return info.witness().expiry() == issued + (issued == 0 ? 1_000 : 2_000) * Rig.MS;
    }
  }
}
