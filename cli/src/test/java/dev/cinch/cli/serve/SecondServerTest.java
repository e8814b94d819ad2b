package dev.cinch.cli.serve;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.Served;
import dev.cinch.cli.SignalsTest;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A second server of a store, started by mistake or to take over. */
@Timeout(600)
class SecondServerTest {
  @TempDir Path temp;

  private List<String> numbers(Path store) throws IOException {
    try (var names = Files.list(store.resolve("service/instances"))) {
      // A number's signed name, and beside it where its server listens.
      return names
          .map(n -> n.getFileName().toString().substring(0, 10))
          .sorted()
          .distinct()
          .toList();
    }
  }

  /** What the first instance has left of where it is, signed by the store's key. */
  private void first(Path store, String address, String machine) throws Exception {
    Path file = temp.resolve("served.key");
    Cinch.Ran unused = new Cinch().run("keygen", "--key=" + file).ended(0);
    var opened =
        Store.open(store, Store.Environment.of(new MachineName("first"), SystemTime.INSTANCE));
    var where = new InstanceFile(address, machine);
    assertEquals(
        1, new StoreInstances(opened.context(), where, SigningKey.load(file)).takeNumber());
  }

  private Cinch.Ran second(Path store) {
    return Cinch.on(store).run("serve", "--port=0", "--key=" + temp.resolve("served.key"));
  }

  @Test
  void isRefusedWhileTheFirstAnswersAndTheFirstGoesOn() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked first = Forked.serveHere(temp, store)) {
      String uri = first.listening();
      second(store)
          .failed(
              3,
              "instance 1 at "
                  + uri
                  + " on "
                  + MachineNames.ofHost()
                  + " serves this store already: end it first, or start in its place with"
                  + " --replace");
      assertEquals(List.of("0000000001"), numbers(store));
      new Cinch().with("CINCH_SERVER", uri).run("lease", "acquire", "--for=5s", "a").ended(0);
    }
  }

  @Test
  void replacesTheFirstIfItIsToldTo() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked first = Forked.serveHere(temp, store)) {
      String earlier = first.listening();
      try (Forked second = Forked.serveHere(temp, store, "--replace")) {
        String uri = second.listening();
        // It finds out by itself seconds later, unless it has by now; this makes it look at once.
        Cinch.Ran asked =
            new Cinch().with("CINCH_SERVER", earlier).run("lease", "acquire", "--for=5s", "a");
        // Where it still answers, it says where the second is.
        assertTrue(asked.code() == 0 || asked.code() == 3 || asked.code() == 4, asked.err());
        assertEquals(
            "cinch serve: instance 2 at "
                + uri
                + " on "
                + MachineNames.ofHost()
                + " has taken over; instance 1 ends",
            first.errLine());
        first.ended(3);
        new Cinch().with("CINCH_SERVER", uri).run("lease", "list").ended(0);
      }
    }
  }

  @Test
  void theFirstAnswersWhatIsUnderWayBeforeItEnds() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked first = Forked.serveHere(temp, store)) {
      URI earlier = URI.create(first.listening());
      try (Socket busy = SignalsTest.begun(earlier);
          Socket quiet = new Socket(earlier.getHost(), earlier.getPort());
          Forked second = Forked.serveHere(temp, store, "--replace")) {
        assertTrue(second.listening().startsWith("http://"));
        SignalsTest.awaitEnd(quiet); // it has found out
        busy.getOutputStream()
            .write("{\"id\":\"000102030405060708090a0b0c0d0e0f\"}".getBytes(UTF_8));
        var answer = new String(busy.getInputStream().readAllBytes(), UTF_8);
        assertTrue(answer.startsWith("HTTP/1.1 421 "), answer);
        assertTrue(answer.contains("\"SUPERSEDED\""), answer);
        assertTrue(first.errLine().endsWith("; instance 1 ends"));
        first.ended(3);
      }
    }
  }

  @Test
  void findsTheFirstUnderANameForWhichJavaKnowsNoHost() throws Exception {
    String name = "Lease_server-.4f";
    Path hosts = Files.writeString(temp.resolve("hosts"), "127.0.0.1 " + name + "\n");
    List<String> jvm = List.of("-Djdk.net.hosts.file=" + hosts);
    Path store = Cinch.store(temp);
    int port;
    try (var free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    String address = "http://" + name + ":" + port;
    String key = "--key=" + temp.resolve("served.key");
    String of = "--store=" + store;
    String advertise = "--advertise=" + address;
    try (Forked first = Forked.here("serve", of, key, "--port=" + port, advertise)) {
      String unused = first.listening();
      try (Forked second = new Forked(jvm, "serve", of, key, "--port=0")) {
        second.ended(3);
        assertTrue(second.err().contains(address), name);
      }
      String server = "--server=" + address;
      try (Forked client = new Forked(jvm, "lease", "acquire", server, "--for=30s", "a")) {
        client.ended(0);
      }
      try (Forked watch = new Forked(jvm, "lease", "watch", server, "a")) {
        assertTrue(watch.line().contains("a"));
      }
      try (Forked status = new Forked(jvm, "status", of)) {
        assertTrue(String.join("\n", status.rest()).contains(address + " (instance 1): grants"));
      }
    }
  }

  @Test
  void aNameThatNobodyCanReadIsRefused() throws Exception {
    Path store = Cinch.store(temp);
    for (String address : List.of("http://a b:1", "http://:1", "http://a:99999", "http://a@b:1")) {
      Cinch.on(store)
          .run("serve", "--port=0", "--key=" + temp.resolve("served.key"), "--advertise=" + address)
          .failed(2, "not an address for others");
    }
  }

  @Test
  void startsWithoutAWordWhereTheFirstIsGone() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked first = Forked.serve(temp, store)) {
      String uri = first.listening();
      assertTrue(uri.startsWith("http://"));
    }
    try (Forked second = Forked.serveHere(temp, store)) {
      String uri = second.listening();
      new Cinch().with("CINCH_SERVER", uri).run("lease", "acquire", "--for=5s", "a").ended(0);
      second.signal("TERM");
      assertEquals("", second.err());
      second.ended(0);
    }
  }

  @Test
  void startsAndSaysSoWhereTheFirstCanNotBeAsked() throws Exception {
    Path store = Cinch.store(temp);
    first(store, "http://127.0.0.1:8470", "elsewhere");
    try (Forked second = Forked.serveHere(temp, store)) {
      assertEquals(
          "cinch serve: instance 1 at http://127.0.0.1:8470 on elsewhere can be asked only there:"
              + " starting in its place",
          second.errLine());
      assertTrue(second.listening().startsWith("http://"));
    }
  }

  @Test
  void doesNotWaitForAFirstThatHangs() throws Exception {
    Path store = Cinch.store(temp);
    try (var silent = new ServerSocket(0, 5, InetAddress.getByName("127.0.0.1"))) {
      String uri = "http://127.0.0.1:" + silent.getLocalPort();
      first(store, uri, MachineNames.ofHost().value());
      try (Forked second = Forked.serveHere(temp, store)) {
        assertTrue(second.errLine().contains(uri), "it says which");
        assertTrue(second.listening().startsWith("http://"));
      }
    }
  }

  @Test
  void isNotStoppedByAnotherServiceAtTheAddressNorByWhatIsNoAddress() throws Exception {
    Path other = temp.resolve("other");
    Files.createDirectory(other);
    try (var served = new Served(other)) {
      Path store = Cinch.store(temp);
      first(store, served.uri(), MachineNames.ofHost().value());
      try (Forked second = Forked.serveHere(temp, store)) {
        assertTrue(second.listening().startsWith("http://"));
      }
      Path left = store.resolve("service/instances/0000000002"); // the second's own line
      for (String content : List.of("", "http://", "a b c\n")) {
        Files.writeString(left, content);
        try (Forked third = Forked.serveHere(temp, store)) {
          assertTrue(third.listening().startsWith("http://"));
        }
        left = store.resolve("service/instances/" + numbers(store).get(numbers(store).size() - 1));
      }
    }
  }

  @Test
  void anAddressForOthersIsAskedFor() throws Exception {
    Path store = Cinch.store(temp);
    for (String wrong : List.of("web-1", "web-1:8470", "http://", "http://a b")) {
      Cinch.on(store)
          .run("serve", "--port=0", "--key=" + temp.resolve("k"), "--advertise=" + wrong)
          .failed(2, "not an address for others: " + wrong);
    }
    assertEquals(List.of(), numbers(store));
    try (Forked server = Forked.serveHere(temp, store, "--advertise=http://leases.example:80")) {
      assertTrue(server.listening().startsWith("http://127.0.0.1:"));
      String line = Files.readString(store.resolve("service/instances/0000000001"));
      assertTrue(line.startsWith("http://leases.example:80 " + MachineNames.ofHost() + " "), line);
    }
  }
}
