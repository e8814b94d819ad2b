package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.time.SystemTime;
import io.etcd.jetcd.api.KVGrpc;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Real etcd processes on loopback, of one cluster; killed in the end. Not thread-safe. */
public final class EtcdCell implements AutoCloseable {
  private static final long START_SECONDS = 60;
  private static final Set<Integer> TAKEN = ConcurrentHashMap.newKeySet();

  private final Path dir;
  private final List<URI> clients = new ArrayList<>();

  /** Where members listen for each other. */
  private final List<URI> peers = new ArrayList<>();

  /** Where they find each other. */
  private final List<URI> found = new ArrayList<>();

  private final List<Process> members = new ArrayList<>();
  private final Thread atExit = new Thread(() -> members.forEach(Process::destroyForcibly));

  /** What members are told besides. */
  private final List<String> more;

  private EtcdCell(Path dir, List<String> more) {
    this.dir = dir;
    this.more = more;
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /**
   * Starts a cluster, or has the test skipped where etcd is not installed.
   *
   * @param dir where it may keep its data
   */
  public static EtcdCell start(Path dir, int members)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    return start(dir, members, peer -> peer);
  }

  /** One member that clients reach by TLS alone, with a certificate of their own. */
  static EtcdCell startWithTls(Path dir, TestCertificates certificates)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    List<String> options =
        List.of(
            "--cert-file=" + certificates.file("member.pem"),
            "--key-file=" + certificates.file("member.key"),
            "--client-cert-auth",
            "--trusted-ca-file=" + certificates.file("ca.pem"));
    return start(dir, 1, peer -> peer, "https", options);
  }

  /** The address at which others find a member. */
  interface Between {
    URI before(URI peer) throws IOException;
  }

  /** Likewise, with something between the members. */
  static EtcdCell start(Path dir, int members, Between between)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    return start(dir, members, between, "http", List.of());
  }

  private static EtcdCell start(
      Path dir, int members, Between between, String scheme, List<String> more)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    Assumptions.assumeTrue(
        Stream.of(System.getenv("PATH").split(File.pathSeparator))
            .anyMatch(path -> Files.isExecutable(Path.of(path, "etcd"))),
        "skipped: there is no etcd here; apt-get install etcd-server");
    var cell = new EtcdCell(dir, more);
    try {
      for (int i = 0; i < members; i++) {
        cell.clients.add(freePort(scheme));
        cell.peers.add(freePort("http"));
        cell.found.add(between.before(cell.peers.get(i)));
      }
      List<CompletableFuture<Void>> ready = new ArrayList<>();
      for (int i = 0; i < members; i++) {
        cell.members.add(cell.launch(i));
        ready.add(readiness(cell.members.get(i)));
      }
      for (CompletableFuture<Void> one : ready) {
        one.get(START_SECONDS, TimeUnit.SECONDS);
      }
      if (scheme.equals("http")) {
        cell.ask();
      }
      return cell;
    } catch (IOException | InterruptedException | ExecutionException | TimeoutException e) {
      cell.close();
      throw e;
    }
  }

  /** Asks for the first time, for which Java loads a thousand classes. */
  private void ask() {
    try (var calls = new EtcdCalls(EtcdCluster.at(clients), SystemTime.INSTANCE, new Random(1))) {
      var unused =
          calls
              .ask(
                  KVGrpc.getRangeMethod(),
                  new Keys("none").count(),
                  calls.now() + TimeUnit.SECONDS.toNanos(START_SECONDS))
              .join();
    }
  }

  /** One of one member that ends with this JVM, and leaves nothing. */
  public static EtcdCell startUntilExit() {
    try {
      EtcdCell cell = start(Files.createTempDirectory("cinch-etcd"), 1);
      Runtime.getRuntime().removeShutdownHook(cell.atExit);
      Runtime.getRuntime().addShutdownHook(new Thread(cell::vanish));
      return cell;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException | ExecutionException | TimeoutException e) {
      throw new IllegalStateException(e);
    }
  }

  private void vanish() {
    try {
      kill(0);
      empty(0);
      Files.delete(dir);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One below those that outgoing connections get: a member that was killed needs it again. */
  private static URI freePort(String scheme) {
    for (int tries = 0; tries < 1_000; tries++) {
      int port = 20_000 + ThreadLocalRandom.current().nextInt(10_000);
      if (!TAKEN.add(port)) {
        continue; // maybe of one that was killed
      }
      try (var socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return URI.create(scheme + "://127.0.0.1:" + socket.getLocalPort());
      } catch (IOException e) {
        // Somebody has it.
      }
    }
    throw new IllegalStateException("no port is free");
  }

  private Process launch(int member) throws IOException {
    String client = clients.get(member).toString();
    String peer = peers.get(member).toString();
    var command =
        new ArrayList<>(
            List.of(
                "etcd",
                "--name=m" + member,
                "--data-dir=" + data(member),
                "--listen-client-urls=" + client,
                "--advertise-client-urls=" + client,
                "--listen-peer-urls=" + peer,
                "--initial-advertise-peer-urls=" + found.get(member),
                "--initial-cluster="
                    + IntStream.range(0, clients.size())
                        .mapToObj(i -> "m" + i + "=" + found.get(i))
                        .collect(Collectors.joining(","))));
    command.addAll(more);
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private Path data(int member) {
    return dir.resolve("m" + member);
  }

  /** Reads all that a member says, since it would wait otherwise. */
  private static CompletableFuture<Void> readiness(Process member) {
    var ready = new CompletableFuture<Void>();
    var reader =
        new Thread(
            () -> {
              var last = new StringBuilder();
              try (BufferedReader in = member.inputReader(UTF_8)) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                  last.append(last.length() > 10_000 ? "" : line + "\n");
                  if (line.contains("serving") && line.contains("client")) {
                    ready.complete(null);
                  }
                }
              } catch (IOException e) {
                last.append(e);
              }
              ready.completeExceptionally(new IOException("etcd has ended:\n" + last));
            },
            "etcd-output");
    reader.setDaemon(true);
    reader.start();
    return ready;
  }

  public List<URI> endpoints() {
    return clients;
  }

  /** As {@code kill -9} does it. */
  public void kill(int member) throws InterruptedException {
    members.get(member).destroyForcibly().waitFor();
  }

  /** Starts one that was killed, and goes on when it serves. */
  public void restart(int member) throws Exception {
    members.set(member, launch(member));
    readiness(members.get(member)).get(START_SECONDS, TimeUnit.SECONDS);
  }

  /** Takes away all that a member that was killed had. */
  void empty(int member) throws IOException {
    try (Stream<Path> files = Files.walk(data(member))) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** Stops all members where they are, so that they are reached and do not answer. */
  void freeze() {
    members.forEach(member -> signal("STOP", member));
  }

  void freeze(int member) {
    signal("STOP", members.get(member));
  }

  void thaw() {
    members.stream().filter(Process::isAlive).forEach(member -> signal("CONT", member));
  }

  private static void signal(String name, Process to) {
    try {
      var kill = new ProcessBuilder("kill", "-" + name, Long.toString(to.pid())).start();
      assertEquals(0, kill.waitFor());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() throws InterruptedException {
    for (Process member : members) {
      member.destroyForcibly().waitFor();
    }
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}
