package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Stands before the port on which a member of an etcd serves its peers. All of them have one
 * address of it, so who has connected is read from the headers of what is asked. Thread-safe.
 */
final class PeerRelay implements AutoCloseable {
  private static final Pattern SENDER =
      Pattern.compile("X-Server-From: ([0-9a-f]+)", Pattern.CASE_INSENSITIVE);

  private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Set<Connection> open = ConcurrentHashMap.newKeySet();
  private final URI server;
  private final int member;
  private final Partitions network;

  PeerRelay(URI server, int member, Partitions network) throws IOException {
    this.server = server;
    this.member = member;
    this.network = network;
    start(this::accept);
  }

  private static void start(Runnable task) {
    var thread = new Thread(task, "peer-relay");
    thread.setDaemon(true);
    thread.start();
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + listening.getLocalPort());
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        var connection = new Connection(listening.accept());
        open.add(connection);
        start(connection::connect);
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  /** Ends connections of which something was lost: the rest of it would make no sense. */
  void dropBroken() {
    open.stream().filter(connection -> connection.broken).forEach(Connection::close);
  }

  @Override
  public void close() throws IOException {
    listening.close();
    open.forEach(Connection::close);
  }

  private final class Connection {
    private final Socket client;
    private volatile Socket to = new Socket();

    /** The id of the member that has connected; empty until it says so. */
    private volatile String sender = "";

    private volatile boolean broken;

    Connection(Socket client) {
      this.client = client;
    }

    void connect() {
      try (client;
          var made = new Socket(server.getHost(), server.getPort())) {
        to = made;
        start(() -> pump(client, made, true));
        pump(made, client, false);
      } catch (IOException e) {
        // The member is not there.
      } finally {
        open.remove(this);
      }
    }

    private void pump(Socket from, Socket into, boolean requests) {
      var buffer = new byte[65_536];
      try (from;
          into) {
        InputStream in = from.getInputStream();
        OutputStream out = into.getOutputStream();
        for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
          if (requests && sender.isEmpty()) {
            Matcher says = SENDER.matcher(new String(buffer, 0, n, ISO_8859_1));
            sender = says.find() ? says.group(1) : "";
          }
          int other = network.member(sender);
          broken |= requests ? network.isCut(other, member) : network.isCut(member, other);
          if (!broken) {
            out.write(buffer, 0, n);
          }
        }
      } catch (IOException e) {
        // One side has gone.
      }
    }

    void close() {
      try (client;
          var other = to) {
        // Both.
      } catch (IOException e) {
        // They are not used any more.
      }
    }
  }
}
