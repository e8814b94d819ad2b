package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.Tampering;
import dev.cinch.lease.witness.Tampering.Edit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rule L10: of what a single edit makes of a witness, whatever its form, nothing is resumed. */
final class TamperedResumeTest {
  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final Rig first = new Rig(time, new FakeRegistry(store));

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void l10_noEditIsResumed(int leases) throws Exception {
    String[] names = {"a", "b", "c", "d", "e"};
    String[] held = Arrays.copyOf(names, leases);
    Grant grant = first.service.acquire(first.request(held));
    SignedWitness other = first.service.acquire(first.request("x")).witnesses().get(0);
    Rig later = new Rig(time, new FakeRegistry(store));
    for (int at = 0; at < leases; at++) {
      SignedWitness good = grant.witnesses().get(at);
      var edits = new ArrayList<Edit>(Tampering.of(good, other));
      edits.addAll(Tampering.valuesOf(good));
      for (Edit edit : edits) {
        var shown = new ArrayList<>(grant.witnesses());
        shown.set(at, edit.witness());
        var request = new Operation.Resume(grant.id(), shown, LEASE_MS);
        assertThrows(LeaseRefusedException.class, () -> later.service.resume(request), edit::what);
      }
    }
    assertEquals(Map.of(), store.ends);
    var whole = new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS);
    assertEquals(leases, later.service.resume(whole).witnesses().size());
  }
}
