package dev.cinch.bag.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.write.Timestamps;
import dev.cinch.lease.Grant;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** What other threads of a session do while one looks whether its stamp still holds. */
class StampsTest extends SessionRig {
  /** Between any two looks at it another thread gives everything back. */
  private static final class Shrinking extends CopyOnWriteArrayList<Holding> {
    private static final long serialVersionUID = 1;

    @Override
    public int size() {
      int size = super.size();
      clear();
      return size;
    }
  }

  @Test
  void aLeaseThatIsGivenBackMeanwhileIsNoError() throws Exception {
    Store opened = store(rig.disk.view(Rig.ALICE), rig.time, "a");
    StoreContext store = opened.context();
    var holdings = new Shrinking();
    var stamps = new Stamps(store, new WitnessCheck(opened), holdings);
    Grant grant = acquire("a");
    var holding = new Holding(new Timestamps(rig.time), grant.witnesses(), true);
    holding.holds(
        new HeldLease(
            service,
            rig.time,
            HoldSettings.of(LEASE.toMillis()),
            grant,
            rig.time.monotonicNanos(),
            holding::report,
            (lease, why) -> {},
            new Random(1)));
    holdings.add(holding);
    assertEquals(1, stamps.current().holdings().size());
    assertEquals(1, stamps.current().holdings().size()); // the same one, found good
    holdings.clear();
    assertEquals(0, stamps.current().holdings().size());
  }
}
