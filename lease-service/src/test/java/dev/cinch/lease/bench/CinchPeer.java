package dev.cinch.lease.bench;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.client.HttpLeaseClient;
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
  private final String name;

  /** One for each server. */
  private final List<HttpLeaseClient> clients = new ArrayList<>();

  private final WitnessVerifier verifier;

  /**
   * @param server where it listens
   */
  public CinchPeer(URI server) throws Exception {
    name = "Cinch";
    clients.add(client(server));
    String key = clients.get(0).info().publicKey();
    verifier = new WitnessVerifier(TrustedKeys.of(PublicKey.parse(key)));
  }

  /**
   * Servers of the same leases, over which callers are spread.
   *
   * @param keys those that the store trusts
   */
  public CinchPeer(String name, List<URI> servers, TrustedKeys keys) {
    this.name = name;
    servers.forEach(server -> clients.add(client(server)));
    verifier = new WitnessVerifier(keys);
  }

  private static HttpLeaseClient client(URI server) {
    return HttpLeaseClient.builder(server).requestTimeout(PATIENCE).build();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Caller caller(int number) {
    return holder(number, List.of(new LeaseName("bench/" + number)));
  }

  /** Takes {@code names} leases in one grant; a caller's names are its own. */
  public Caller grant(int number, int names) {
    var list = new ArrayList<LeaseName>();
    for (int i = 0; i < names; i++) {
      list.add(new LeaseName("grant/" + number + "/" + i));
    }
    return holder(number, list);
  }

  private Caller holder(int number, List<LeaseName> names) {
    HttpLeaseClient client = clients.get(number % clients.size());
    return new Caller() {
      private Id id = Id.random(random);

      @Override
      public void acquire() throws Exception {
        id = Id.random(random);
        check(
            client.acquire(
                new Operation.Acquire(id, names, "bench", DURATION_MS, LogSet.ALL, false)));
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
