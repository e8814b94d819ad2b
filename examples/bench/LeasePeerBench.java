import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.lease.bench.CinchPeer;
import dev.cinch.lease.bench.LeasePeer;
import dev.cinch.lease.bench.LeaseTurns;
import dev.cinch.lease.time.SystemTime;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/**
 * Leases of Cinch beside those of other services, in turns. Arguments: rounds, milliseconds a turn, grants of a thousand leases to renew,
 * and each service as NAME=ADDRESS[,ADDRESS]...: first cinch, or paxoslease, flease and cinch-etcd with the store's directory as the first
 * address; then any of etcd, zookeeper and redis. Of several servers each gets a client of its own, over which callers are spread.
 */
public final class LeasePeerBench {
  private static final long SECONDS = 60;

  private LeasePeerBench() {}

  public static void main(String[] args) throws Exception {
    var peers = new ArrayList<LeasePeer>();
    for (int i = 3; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      List<String> addresses = List.of(args[i].substring(equals + 1).split(","));
      peers.add(
          switch (args[i].substring(0, equals)) {
            case "cinch" -> new CinchPeer(URI.create(addresses.get(0)));
            case "paxoslease" -> cinch("Cinch, PaxosLease", addresses);
            case "flease" -> cinch("Cinch, Flease", addresses);
            case "cinch-etcd" -> cinch("Cinch in etcd", addresses);
            case "etcd" -> new Etcd(addresses);
            case "zookeeper" -> new ZooKeeper(addresses);
            case "redis" -> new Redis(addresses.get(0));
            default -> throw new IllegalArgumentException(args[i]);
          });
    }
    var turns = new LeaseTurns(peers, Integer.parseInt(args[0]), Long.parseLong(args[1]), System.out);
    turns.cycles();
    int grants = Integer.parseInt(args[2]);
    if (peers.get(0) instanceof CinchPeer cinch && grants > 0) {
      turns.renewals(cinch, grants);
    }
    System.exit(0);
  }

  private static CinchPeer cinch(String name, List<String> storeAndServers) throws Exception {
    var environment = Store.Environment.of(new MachineName("bench"), SystemTime.INSTANCE);
    Store store = Store.open(Path.of(storeAndServers.get(0)), environment);
    List<URI> servers = storeAndServers.stream().skip(1).map(URI::create).toList();
    return new CinchPeer(name, servers, CountingKeys.ofStore(store.context()).now());
  }

  /** A lease, and a key that nobody else has put under one. */
  private static final class Etcd implements LeasePeer {
    private final List<Client> clients;

    Etcd(List<String> addresses) {
      clients = addresses.stream().map(address -> Client.builder().endpoints(address).build()).toList();
    }

    @Override
    public String name() {
      return "etcd";
    }

    @Override
    public Caller caller(int number) {
      Client client = clients.get(number % clients.size());
      ByteSequence key = ByteSequence.from("bench/" + number, StandardCharsets.UTF_8);
      ByteSequence holder = ByteSequence.from("bench", StandardCharsets.UTF_8);
      return new Caller() {
        private long lease;

        @Override
        public void acquire() throws Exception {
          lease = client.getLeaseClient().grant(SECONDS).get().getID();
          var put = Op.put(key, holder, PutOption.builder().withLeaseId(lease).build());
          boolean free =
              client
                  .getKVClient()
                  .txn()
                  .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0)))
                  .Then(put)
                  .commit()
                  .get()
                  .isSucceeded();
          require(free, "etcd: held by somebody else");
        }

        @Override
        public void renew() throws Exception {
          require(client.getLeaseClient().keepAliveOnce(lease).get().getTTL() > 0, "etcd: expired");
        }

        @Override
        public void release() throws Exception {
          client.getLeaseClient().revoke(lease).get();
        }
      };
    }
  }

  /** Curator's lock, which its session renews by itself. */
  private static final class ZooKeeper implements LeasePeer {
    private final List<CuratorFramework> clients = new ArrayList<>();

    ZooKeeper(List<String> addresses) throws Exception {
      for (String address : addresses) {
        var client = CuratorFrameworkFactory.newClient(address, new RetryOneTime(1_000));
        client.start();
        require(client.blockUntilConnected(30, TimeUnit.SECONDS), "ZooKeeper: no connection");
        clients.add(client);
      }
    }

    @Override
    public String name() {
      return "ZooKeeper";
    }

    @Override
    public Caller caller(int number) {
      var mutex = new InterProcessMutex(clients.get(number % clients.size()), "/bench/" + number);
      return new Caller() {
        @Override
        public void acquire() throws Exception {
          mutex.acquire();
        }

        @Override
        public void renew() {}

        @Override
        public void release() throws Exception {
          mutex.release();
        }
      };
    }
  }

  /** A key with a time to live that only its setter prolongs and deletes. */
  private static final class Redis implements LeasePeer {
    private static final String IF_MINE = "if redis.call('get', KEYS[1]) == ARGV[1] then return ";
    private static final String ELSE = " else return 0 end";

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final String prolong;
    private final String delete;

    Redis(String address) {
      client = RedisClient.create(address);
      connection = client.connect();
      prolong = connection.sync().scriptLoad(IF_MINE + "redis.call('pexpire', KEYS[1], ARGV[2])" + ELSE);
      delete = connection.sync().scriptLoad(IF_MINE + "redis.call('del', KEYS[1])" + ELSE);
    }

    @Override
    public String name() {
      return "Redis";
    }

    @Override
    public Caller caller(int number) {
      RedisCommands<String, String> redis = connection.sync();
      String[] key = {"bench/" + number};
      String millis = Long.toString(SECONDS * 1_000);
      return new Caller() {
        private String mine = "";

        @Override
        public void acquire() {
          mine = UUID.randomUUID().toString();
          String set = redis.set(key[0], mine, SetArgs.Builder.nx().px(SECONDS * 1_000));
          require("OK".equals(set), "Redis: held by somebody else");
        }

        @Override
        public void renew() {
          long done = redis.<Long>evalsha(prolong, ScriptOutputType.INTEGER, key, mine, millis);
          require(done == 1, "Redis: expired");
        }

        @Override
        public void release() {
          long done = redis.<Long>evalsha(delete, ScriptOutputType.INTEGER, key, mine);
          require(done == 1, "Redis: expired");
        }
      };
    }
  }

  private static void require(boolean good, String otherwise) {
    if (!good) {
      throw new IllegalStateException(otherwise);
    }
  }
}
