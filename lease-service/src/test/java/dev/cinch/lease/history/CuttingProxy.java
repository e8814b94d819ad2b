package dev.cinch.lease.history;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * Stands between clients and whichever server there is: loses requests, loses answers, and brings
 * requests to the server when their senders have given up. Thread-safe.
 */
final class CuttingProxy implements AutoCloseable {
  private enum Fate {
    ANSWERED,
    LOST_BEFORE,
    LOST_AFTER,
    LATE
  }

  private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final Random random;
  private final int lossPercent;

  /** Held for reading from before a client is cut off: its request stays with one instance. */
  private final ReadWriteLock servers = new ReentrantReadWriteLock();

  private URI server;

  /**
   * @param lossPercent how many requests of a hundred are not answered
   */
  CuttingProxy(URI server, long seed, int lossPercent) throws IOException {
    this.server = server;
    this.random = new Random(seed);
    this.lossPercent = lossPercent;
    start(this::accept);
  }

  private static void start(Runnable task) {
    var thread = new Thread(task, "cutting-proxy");
    thread.setDaemon(true);
    thread.start();
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + listening.getLocalPort());
  }

  /** From now on another server gets the requests; none is under way at the one before. */
  void to(URI next) {
    servers.writeLock().lock();
    try {
      server = next;
    } finally {
      servers.writeLock().unlock();
    }
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket client = listening.accept();
        open.add(client);
        start(() -> serve(client));
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  private void serve(Socket client) {
    try (client) {
      var in = new BufferedInputStream(client.getInputStream());
      for (ByteArrayOutputStream request = read(in); request != null; request = read(in)) {
        ByteArrayOutputStream answer = exchange(client, request);
        if (answer == null) {
          return;
        }
        answer.writeTo(client.getOutputStream());
      }
    } catch (IOException e) {
      // The client has gone, or the test ends.
    } finally {
      open.remove(client);
    }
  }

  private synchronized Fate fate() {
    return random.nextInt(100) >= lossPercent
        ? Fate.ANSWERED
        : Fate.values()[1 + random.nextInt(3)];
  }

  /** None if the client does not hear of it. */
  private @Nullable ByteArrayOutputStream exchange(Socket client, ByteArrayOutputStream request)
      throws IOException {
    Fate fate = fate();
    if (fate == Fate.LOST_BEFORE) {
      return null;
    }
    servers.readLock().lock();
    try {
      if (fate == Fate.LATE) {
        client.close();
      }
      ByteArrayOutputStream answer = forward(request);
      return fate == Fate.ANSWERED ? answer : null;
    } finally {
      servers.readLock().unlock();
    }
  }

  private @Nullable ByteArrayOutputStream forward(ByteArrayOutputStream request)
      throws IOException {
    try (var socket = new Socket(server.getHost(), server.getPort())) {
      request.writeTo(socket.getOutputStream());
      return read(new BufferedInputStream(socket.getInputStream()));
    }
  }

  /** Head and body, whose length stands in the head; none at the end. */
  private static @Nullable ByteArrayOutputStream read(InputStream in) throws IOException {
    var head = new ByteArrayOutputStream();
    while (!head.toString(ISO_8859_1).endsWith("\r\n\r\n")) {
      int next = in.read();
      if (next < 0) {
        return null;
      }
      head.write(next);
    }
    int length = 0;
    for (String line : head.toString(ISO_8859_1).toLowerCase(Locale.ROOT).lines().toList()) {
      if (line.startsWith("content-length:")) {
        length = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
      }
    }
    head.write(in.readNBytes(length));
    return head;
  }

  @Override
  public void close() throws IOException {
    listening.close();
    for (Socket socket : open) {
      socket.close();
    }
  }
}
