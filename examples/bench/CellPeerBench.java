import dev.cinch.lease.bench.CellPeer;
import dev.cinch.lease.bench.CellTurns;
import dev.cinch.lease.bench.CinchCell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.xtreemfs.foundation.LifeCycleListener;
import org.xtreemfs.foundation.TimeSync;
import org.xtreemfs.foundation.buffer.ASCIIString;
import org.xtreemfs.foundation.buffer.ReusableBuffer;
import org.xtreemfs.foundation.flease.Flease;
import org.xtreemfs.foundation.flease.FleaseConfig;
import org.xtreemfs.foundation.flease.FleaseMessageSenderInterface;
import org.xtreemfs.foundation.flease.FleaseStage;
import org.xtreemfs.foundation.flease.FleaseStatusListener;
import org.xtreemfs.foundation.flease.comm.FleaseMessage;
import org.xtreemfs.foundation.flease.proposer.FleaseException;
import org.xtreemfs.foundation.logging.Logging;

/**
 * Cinch's cell beside the Flease of XtreemFS, in turns. Arguments: leases, leases under way at a time at each node, rounds. Needs
 * XtreemFS's classes, which are no part of Cinch: cell-peers.sh says more.
 */
public final class CellPeerBench {
  private CellPeerBench() {}

  public static void main(String[] args) throws Exception {
    Logging.start(Logging.LEVEL_ERROR, Logging.Category.all);
    TimeSync.initializeLocal(0);
    List<CellPeer> peers = List.of(CinchCell.paxosLease(), CinchCell.flease(), new XtreemFs());
    new CellTurns(peers, Integer.parseInt(args[0]), Integer.parseInt(args[1]), Integer.parseInt(args[2]), System.out).run();
    System.exit(0);
  }

  /** Three stages, each with a socket. */
  private static final class XtreemFs implements CellPeer {
    @Override
    public String name() {
      return "XtreemFS, Flease";
    }

    @Override
    public Nodes start() throws Exception {
      Path directory = Files.createTempDirectory("xtreemfs-flease");
      var nodes = new ArrayList<Node>();
      for (int i = 0; i < 3; i++) {
        nodes.add(new Node(directory));
      }
      for (Node node : nodes) {
        node.start(nodes.stream().filter(other -> other != node).map(other -> other.address).toList());
      }
      return new Nodes() {
        @Override
        public Acquisition acquisition(int node, String name) {
          var cell = new ASCIIString(name);
          return done -> nodes.get(node).acquire(cell, done);
        }

        @Override
        public int size() {
          return nodes.size();
        }

        @Override
        public void close() throws Exception {
          for (Node node : nodes) {
            node.close();
          }
        }
      };
    }
  }

  /**
   * A stage, which is a thread, and a socket with a thread that receives. XtreemFS's own UDPFleaseCommunicator passes its stage no
   * listener, so nobody would hear of a lease. This one sends from the stage's thread, without its queue and its selector.
   */
  private static final class Node implements FleaseMessageSenderInterface, FleaseStatusListener, LifeCycleListener {
    private static final int LEASE_MS = 1_800_000;
    private static final int CLOCKS_APART_MS = 100;

    /** What is older is dropped, and its attempt starts again after twice this. XtreemFS's 500 ms is short where threads wait for a core. */
    private static final int MESSAGE_MS = 2_500;

    private static final int RETRIES = 5;
    private static final int LARGEST = 16 << 10;

    /** As that of Cinch's nodes. */
    private static final int KERNEL_BUFFER = 4 << 20;

    final InetSocketAddress address;
    private final DatagramChannel channel = DatagramChannel.open();
    private final FleaseStage stage;
    private final Map<ASCIIString, Consumer<Boolean>> waiting = new ConcurrentHashMap<>();
    private final ReusableBuffer out = new ReusableBuffer(ByteBuffer.allocateDirect(LARGEST));
    private volatile List<InetSocketAddress> others = List.of();

    Node(Path directory) throws IOException {
      channel.setOption(StandardSocketOptions.SO_RCVBUF, KERNEL_BUFFER);
      channel.setOption(StandardSocketOptions.SO_SNDBUF, KERNEL_BUFFER);
      channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      address = (InetSocketAddress) channel.getLocalAddress();
      var config =
          new FleaseConfig(LEASE_MS, CLOCKS_APART_MS, MESSAGE_MS, address, "node-" + address.getPort(), RETRIES);
      stage = new FleaseStage(config, directory.toString(), this, true, (cell, view, proposed) -> {}, this, null);
      stage.setLifeCycleListener(this);
    }

    void start(List<InetSocketAddress> theOthers) throws Exception {
      others = theOthers;
      stage.start();
      stage.waitForStartup();
      var receiver = new Thread(this::receive, "receiver");
      receiver.setDaemon(true);
      receiver.start();
    }

    void acquire(ASCIIString cell, Consumer<Boolean> done) {
      waiting.put(cell, done);
      stage.openCell(cell, others, false, 0);
    }

    private void receive() {
      var in = new ReusableBuffer(ByteBuffer.allocateDirect(LARGEST));
      try {
        while (true) {
          in.clear();
          var sender = (InetSocketAddress) channel.receive(in.getBuffer());
          in.flip();
          var message = new FleaseMessage(in);
          message.setSender(sender);
          stage.receiveMessage(message);
        }
      } catch (ClosedChannelException e) {
        // the turn is over
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Of the stage's thread. */
    @Override
    public void sendMessage(FleaseMessage message, InetSocketAddress to) {
      out.clear();
      message.serialize(out);
      out.flip();
      try {
        channel.send(out.getBuffer(), to);
      } catch (ClosedChannelException e) {
        // the turn is over
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void statusChanged(ASCIIString cell, Flease lease) {
      Consumer<Boolean> done = waiting.remove(cell);
      if (done != null) {
        done.accept(stage.getIdentity().equals(lease.getLeaseHolder()));
      }
    }

    @Override
    public void leaseFailed(ASCIIString cell, FleaseException error) {
      Consumer<Boolean> done = waiting.remove(cell);
      if (done != null) {
        done.accept(false);
      }
    }

    @Override
    public void startupPerformed() {}

    @Override
    public void shutdownPerformed() {}

    @Override
    public void crashPerformed(Throwable cause) {
      cause.printStackTrace();
      System.exit(1);
    }

    void close() throws Exception {
      stage.shutdown();
      stage.waitForShutdown();
      channel.close();
    }
  }
}
