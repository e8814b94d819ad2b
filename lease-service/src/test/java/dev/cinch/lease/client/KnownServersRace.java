package dev.cinch.lease.client;

import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.time.ManualTime;
import java.net.URI;
import java.util.List;
import java.util.OptionalLong;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * A thread hears of a new server while another asks whether that was replaced: its holders would
 * look for their leases elsewhere.
 */
@JCStressTest
@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "the one before it was replaced")
@Outcome(expect = Expect.FORBIDDEN, desc = "the one that has just come was")
@State
public class KnownServersRace {
  private static final URI HOME = URI.create("http://127.0.0.1:8470");
  private static final HttpLeaseClient CLIENT = HttpLeaseClient.builder(HOME).build();

  private final KnownServers servers =
      new KnownServers(ServerAddresses.of(HOME), a -> CLIENT, new ManualTime());

  public KnownServersRace() {
    servers.learned(instance(1));
  }

  private static ShardServers instance(long number) {
    var server = new ShardServers.Server(1, number, HOME.toString(), "web-1");
    return new ShardServers(ShardMap.NONE, List.of(server));
  }

  @Actor
  public void hears() {
    servers.learned(instance(2));
  }

  @Actor
  public void asks(ZZ_Result r) {
    r.r1 = servers.isReplaced(OptionalLong.of(2));
  }

  @Arbiter
  public void before(ZZ_Result r) {
    r.r2 = servers.isReplaced(OptionalLong.of(1));
  }
}
