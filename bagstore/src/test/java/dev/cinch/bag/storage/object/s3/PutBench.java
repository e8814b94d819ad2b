package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.time.SystemTime;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * PUTs of one size by many threads: through {@link S3Objects}, and over bare sockets, signed and
 * not, to a server that reads and says yes. Arguments: the size in bytes, the threads, and the
 * seconds of a round. With {@code CINCH_TEST_S3}, a bucket, the former go there too.
 */
public final class PutBench {
  private static final String YES = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

  private final int threads;
  private final long nanos;

  private PutBench(int threads, long nanos) {
    this.threads = threads;
    this.nanos = nanos;
  }

  private interface Put {
    void run(long number) throws Exception;
  }

  /** One for each thread. */
  private interface Puts {
    Put open() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    int size = args.length > 0 ? Integer.parseInt(args[0]) : 20_000;
    int threads = args.length > 1 ? Integer.parseInt(args[1]) : 64;
    long seconds = args.length > 2 ? Long.parseLong(args[2]) : 5;
    var bench = new PutBench(threads, seconds * 1_000_000_000L);
    byte[] body = new byte[size];
    try (var listening = new ServerSocket(0, 200, InetAddress.getLoopbackAddress())) {
      daemon(() -> accept(listening));
      int port = listening.getLocalPort();
      var nobody = Map.of("AWS_ACCESS_KEY_ID", "k", "AWS_SECRET_ACCESS_KEY", "s");
      Environment here = new Environment(nobody, Path.of("/nowhere"));
      S3Objects objects = objects("bench", Optional.of("http://127.0.0.1:" + port), here, threads);
      var by = new Credentials("k", "s", Optional.empty(), Long.MAX_VALUE, "the bench");
      URI base = URI.create("http://127.0.0.1:" + port + "/bench");
      for (int round = 0; round < 4; round++) {
        bench.round("S3Objects", () -> number -> put(objects, "k" + number, body));
        bench.round("bare, signed", () -> bare(base, Optional.of(by), body));
        bench.round("bare", () -> bare(base, Optional.empty(), body));
      }
    }
    String bucket = System.getenv("CINCH_TEST_S3");
    if (bucket != null) {
      Environment process = Environment.ofProcess();
      S3Objects there = objects(bucket, Optional.empty(), process, threads);
      var by = Optional.of(new CredentialChain(process, SystemTime.INSTANCE).current());
      URI base = S3Bucket.of(ObjectAddress.parse("s3://" + bucket), process).base();
      String below = "bench-" + UUID.randomUUID() + "/";
      for (int round = 0; round < 3; round++) {
        String prefix = below + round + "/";
        bench.round("S3Objects there", () -> number -> put(there, prefix + number, body));
        URI bare = URI.create(base + "/" + prefix + "bare");
        bench.round("bare there", () -> bare(bare, by, body));
      }
    }
  }

  private static S3Objects objects(
      String bucket, Optional<String> endpoint, Environment environment, int threads)
      throws Exception {
    return new S3Objects(
        S3Bucket.of(
            ObjectAddress.parse("s3://" + bucket + endpoint.map(e -> "?endpoint=" + e).orElse("")),
            environment),
        new CredentialChain(environment, SystemTime.INSTANCE),
        SystemTime.INSTANCE,
        new Patience(Duration.ofSeconds(5), Duration.ofSeconds(30)),
        threads);
  }

  private static void put(S3Objects objects, String key, byte[] body) throws Exception {
    if (!objects.put(key, ByteBuffer.wrap(body))) {
      throw new IllegalStateException("not put: " + key);
    }
  }

  private static Put bare(URI base, Optional<Credentials> by, byte[] body) throws Exception {
    var socket = new Socket(base.getHost(), base.getPort());
    socket.setTcpNoDelay(true);
    var signer = new Signer("us-east-1");
    byte[] unsigned = bytes(head(base, body, Map.of()), body);
    var answer = new byte[4 << 10];
    return number -> {
      byte[] all = unsigned;
      if (by.isPresent()) {
        URI uri = URI.create(base + "/" + number);
        ByteBuffer[] parts = {ByteBuffer.wrap(body)};
        var headers = Map.of("if-none-match", "*");
        long now = SystemTime.INSTANCE.wallNanos();
        var signed = signer.sign(by.get(), "PUT", uri, headers, parts, now);
        all = bytes(head(uri, body, signed), body);
      }
      socket.getOutputStream().write(all);
      int have = 0;
      while (end(answer, have) < 0) {
        int count = socket.getInputStream().read(answer, have, answer.length - have);
        if (count < 0) {
          throw new IllegalStateException("no answer");
        }
        have += count;
      }
      String said = new String(answer, 0, have, ISO_8859_1);
      if (!said.startsWith("HTTP/1.1 200")) {
        throw new IllegalStateException(said);
      }
    };
  }

  private static String head(URI uri, byte[] body, Map<String, String> headers) {
    var head = new StringBuilder("PUT " + uri.getRawPath() + " HTTP/1.1\r\n");
    head.append("Host: " + uri.getRawAuthority() + "\r\n");
    headers.forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
    return head.append("Content-Length: " + body.length + "\r\n\r\n").toString();
  }

  private static byte[] bytes(String head, byte[] body) {
    byte[] first = head.getBytes(ISO_8859_1);
    byte[] all = Arrays.copyOf(first, first.length + body.length);
    System.arraycopy(body, 0, all, first.length, body.length);
    return all;
  }

  private void round(String what, Puts puts) throws Exception {
    var done = new AtomicLong();
    var first = new Thread[threads];
    long started = ManagementFactory.getThreadMXBean().getTotalStartedThreadCount();
    long from = SystemTime.INSTANCE.monotonicNanos();
    for (int i = 0; i < threads; i++) {
      first[i] =
          daemon(
              () -> {
                Put put = puts.open();
                while (SystemTime.INSTANCE.monotonicNanos() - from < nanos) {
                  put.run(done.incrementAndGet());
                }
              });
    }
    for (Thread thread : first) {
      thread.join();
    }
    double took = (SystemTime.INSTANCE.monotonicNanos() - from) / 1e9;
    long more = ManagementFactory.getThreadMXBean().getTotalStartedThreadCount() - started;
    System.out.printf(
        "%-16s %,8.0f PUT/s; threads started but the %d that ask: %d%n",
        what, done.get() / took, threads, more - threads);
  }

  private interface Step {
    void run() throws Exception;
  }

  private static Thread daemon(Step step) {
    var thread =
        new Thread(
            () -> {
              try {
                step.run();
              } catch (Exception e) {
                System.err.println(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void accept(ServerSocket listening) throws Exception {
    while (!listening.isClosed()) {
      Socket socket = listening.accept();
      daemon(() -> serve(socket));
    }
  }

  private static void serve(Socket socket) throws Exception {
    var buffer = new byte[64 << 10];
    try (socket) {
      InputStream in = socket.getInputStream();
      int have = 0;
      while (true) {
        int end;
        while ((end = end(buffer, have)) < 0) {
          int count = in.read(buffer, have, buffer.length - have);
          if (count < 0) {
            return;
          }
          have += count;
        }
        String head = new String(buffer, 0, end, ISO_8859_1);
        int at = head.indexOf("Content-Length: ") + "Content-Length: ".length();
        int left = Integer.parseInt(head.substring(at, head.indexOf('\r', at))) - (have - end);
        while (left > 0) {
          left -= in.read(buffer, 0, Math.min(left, buffer.length));
        }
        have = 0;
        socket.getOutputStream().write(YES.getBytes(ISO_8859_1));
      }
    }
  }

  private static int end(byte[] buffer, int have) {
    for (int i = 3; i < have; i++) {
      if (buffer[i] == '\n' && buffer[i - 2] == '\n') {
        return i + 1;
      }
    }
    return -1;
  }
}
