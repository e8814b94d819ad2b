package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.write.Timestamps;
import dev.cinch.lease.Grant;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A stamp is made anew when what the session holds has changed. */
class StampsTest extends SessionRig {
  @Test
  void aStampIsOfWhatIsHeldNow() throws Exception {
    Store opened = store(rig.disk.view(Rig.ALICE), rig.time, "a");
    StoreContext store = opened.context();
    var holdings = new Holdings();
    var stamps = new Stamps(store, new WitnessCheck(opened), holdings);
    Grant grant = acquire("a");
    var holding = new Holding(new Timestamps(rig.time), grant.witnesses(), true);
    holding.holds(
        new HeldLease(
            service,
            rig.time,
            HoldSettings.of(LEASE.toMillis()),
            grant,
            HeldLease.AskedAt.now(rig.time),
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
