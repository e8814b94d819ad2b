package dev.cinch.lease.bench;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.http.HttpLeaseClient;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.net.URI;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Cinch through its Java client; every witness is verified, as those that act on it do. */
public final class CinchPeer implements LeasePeer {
  private static final long DURATION_MS = 60_000;

  /** Long, so that a busy machine makes a measurement slow and does not end it. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final SecureRandom random = new SecureRandom();
  private final HttpLeaseClient client;
  private final WitnessVerifier verifier;

  /**
   * @param server where it listens
   */
  public CinchPeer(URI server) throws Exception {
    client = HttpLeaseClient.builder(server).requestTimeout(PATIENCE).build();
    verifier = new WitnessVerifier(TrustedKeys.of(PublicKey.parse(client.info().publicKey())));
  }

  @Override
  public String name() {
    return "Cinch";
  }

  @Override
  public Caller caller(int number) {
    return holder(List.of(new LeaseName("bench/" + number)));
  }

  /** Takes {@code names} leases in one grant; a caller's names are its own. */
  public Caller grant(int number, int names) {
    var list = new ArrayList<LeaseName>();
    for (int i = 0; i < names; i++) {
      list.add(new LeaseName("grant/" + number + "/" + i));
    }
    return holder(list);
  }

  private Caller holder(List<LeaseName> names) {
    return new Caller() {
      private Id id = Id.random(random);

      @Override
      public void acquire() throws Exception {
        id = Id.random(random);
        check(
            client.acquire(new AcquireRequest(id, names, "bench", DURATION_MS, LogSet.ALL, false)));
      }

      @Override
      public void renew() throws Exception {
        check(client.renew(id, DURATION_MS, LogSet.NONE, LeaseReport.NOTHING));
      }

      @Override
      public void release() throws Exception {
        client.release(id, LeaseReport.NOTHING);
      }
    };
  }

  private void check(Grant grant) throws WitnessException {
    List<SignedWitness> unused =
        verifier.verifyAll(grant.witnesses().stream().map(SignedWitness::bytes).toList());
  }
}
