package dev.cinch.lease.etcd;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Stands in front of an etcd as a network does that fails: bytes go both ways, until connections
 * are cut. Thread-safe.
 */
final class Relay implements AutoCloseable {
  private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final Set<Socket> held = ConcurrentHashMap.newKeySet();
  private final URI server;
  private final Random random;
  private volatile int lossPercent;
  private volatile boolean cut;
  private volatile boolean mute;

  Relay(URI server, long seed) throws IOException {
    this.server = server;
    this.random = new Random(seed);
    start(this::accept);
  }

  private static void start(Runnable task) {
    var thread = new Thread(task, "relay");
    thread.setDaemon(true);
    thread.start();
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + listening.getLocalPort());
  }

  /** So many answers of a hundred are lost from now on, with their connections. */
  void lose(int percent) {
    lossPercent = percent;
  }

  /** What comes next on connections that are open now is held back, for as long as this is. */
  void holdRequests() {
    held.addAll(open);
  }

  /** No answer comes through until it is healed; what is asked does, and nobody hangs up. */
  void mute() {
    mute = true;
  }

  /** Nothing comes through until it is healed. */
  void cut() throws IOException {
    cut = true;
    hangUp();
  }

  private void hangUp() throws IOException {
    for (Socket socket : open) {
      socket.close();
    }
  }

  /** Connections that it met begin anew: what was lost of them is missing. */
  void heal() throws IOException {
    cut = false;
    mute = false;
    hangUp();
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket client = listening.accept();
        open.add(client);
        if (cut) {
          client.close();
        } else {
          start(() -> connect(client));
        }
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  private void connect(Socket client) {
    try (client;
        var to = new Socket(server.getHost(), server.getPort())) {
      open.add(to);
      start(() -> pump(client, to, false));
      pump(to, client, true);
      open.remove(to);
    } catch (IOException e) {
      // The server is not there.
    } finally {
      open.remove(client);
    }
  }

  private void pump(Socket from, Socket to, boolean answers) {
    var buffer = new byte[8_192];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
        if (answers && isLost()) {
          return;
        }
        if (answers ? mute : held.contains(from)) {
          continue;
        }
        out.write(buffer, 0, n);
      }
    } catch (IOException e) {
      // One side has gone, or was cut.
    }
  }

  private synchronized boolean isLost() {
    return random.nextInt(100) < lossPercent;
  }

  @Override
  public void close() throws IOException {
    listening.close();
    cut();
  }
}
