package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.wire.PemTls;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Lease servers that speak TLS, and what their clients need. */
@Timeout(120)
final class TlsTest {
  private int leases;
  @TempDir Path temp;

  private Path tls(String directory, String... clients) throws Exception {
    Path made = temp.resolve(directory);
    var cinch = new Cinch();
    cinch.run("tls", "init", made.toString(), "--server=localhost").ended(0);
    for (String client : clients) {
      cinch.run("tls", "init", made.toString(), "--client=" + client).ended(0);
    }
    return made;
  }

  private static String[] own(Path tls, String name) {
    return new String[] {
      "--tls-cert=" + tls.resolve(name + ".pem"), "--tls-key=" + tls.resolve(name + ".key")
    };
  }

  private String[] acquire(String... options) {
    return with(new String[] {"lease", "acquire", "--for=10s"}, with(options, "a" + ++leases));
  }

  /** As long as it takes on a busy machine. */
  private String[] patiently(String... options) {
    return acquire(with(options, "--wait=60s"));
  }

  private static String[] with(String[] some, String... others) {
    String[] all = java.util.Arrays.copyOf(some, some.length + others.length);
    System.arraycopy(others, 0, all, some.length, others.length);
    return all;
  }

  /** The number of the certificate that a server shows. */
  private static String shown(int port) throws Exception {
    var any =
        new X509TrustManager() {
          @Override
          public void checkClientTrusted(X509Certificate[] chain, String type) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String type) {}

          @Override
          public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
          }
        };
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, new TrustManager[] {any}, null);
    try (var socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
      socket.startHandshake();
      var first = (X509Certificate) socket.getSession().getPeerCertificates()[0];
      return first.getSerialNumber().toString();
    }
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  @Test
  void keysAreTheirOwnersAlone() throws Exception {
    Path tls = tls("tls", "web-1");
    for (String name : List.of("ca", "server", "web-1")) {
      assertEquals("rw-------", modes(tls.resolve(name + ".key")));
      assertEquals("rw-r--r--", modes(tls.resolve(name + ".pem")));
    }
    byte[] ca = Files.readAllBytes(tls.resolve("ca.pem"));
    var cinch = new Cinch();
    cinch.run("tls", "init", tls.toString()).ended(0);
    assertEquals(List.of(ca.length), List.of(Files.readAllBytes(tls.resolve("ca.pem")).length));
    cinch.run("tls", "init", tls.toString(), "--client=../x").failed(2, "no name");
    cinch.run("tls", "init", tls.toString(), "--client=ca").failed(2, "no name");
    cinch.run("tls", "init", tls.toString(), "--server=a/b").failed(2, "no name or address");
    Files.delete(tls.resolve("ca.key"));
    cinch.run("tls", "init", tls.toString()).failed(3, "one is missing");
  }

  /** As tools and editors leave them. */
  @Test
  void partsOfAFileAreFoundAmongWhatElseIsThere() throws Exception {
    Path tls = tls("tls");
    String certificate = Files.readString(tls.resolve("server.pem"));
    String key = Files.readString(tls.resolve("server.key"));
    for (String[] files :
        List.of(
            new String[] {certificate + key, key + certificate},
            new String[] {key + certificate, certificate + key},
            new String[] {"\uFEFF" + certificate, "\uFEFF" + key},
            new String[] {"subject: ü --- x\n" + certificate, "Bag Attributes: ü\n" + key},
            new String[] {certificate.replace("\n", "\r\n"), key.replace("\n", "\r\n")})) {
      Path cert = Files.writeString(temp.resolve("cert"), files[0]);
      Path its = Files.writeString(temp.resolve("its"), files[1]);
      var own = new PemTls.Own(cert, its);
      assertDoesNotThrow(() -> new PemTls(Optional.of(cert), Optional.of(own)), files[0]);
    }
    Path none = Files.writeString(temp.resolve("none"), key);
    var e =
        assertThrows(
            IOException.class, () -> new PemTls(Optional.of(none), Optional.empty()).get());
    assertEquals(none + " holds no certificate of PEM, \"BEGIN CERTIFICATE\"", e.getMessage());
  }

  /** By whoever has the file, since the other end can't name it. */
  @Test
  void whatHasExpiredIsNamed() throws Exception {
    Path tls = temp.resolve("tls");
    var cinch = new Cinch();
    cinch.run("tls", "init", tls.toString(), "--server=localhost", "--for=1ms").ended(0);
    Path expired = tls.resolve("server.pem");
    String told = expired + ": its certificate expired at 20";
    Cinch asks = new Cinch().with("CINCH_SERVER", "https://localhost:1");
    asks.run(acquire("--ca=" + expired)).failed(4, told);
    asks.run(acquire(own(tls, "server"))).failed(4, told);
    Path both = Files.writeString(temp.resolve("both"), Files.readString(expired));
    Files.writeString(
        both, Files.readString(tls.resolve("ca.pem")), java.nio.file.StandardOpenOption.APPEND);
    var unused = new PemTls(Optional.of(both), Optional.empty()); // one of them will do
    Path store = Cinch.store(temp);
    Cinch.on(store)
        .run(
            with(
                new String[] {"serve", "--port=0", "--key=" + temp.resolve("key")},
                own(tls, "server")))
        .failed(4, told);
  }

  private static String modes(Path file) throws Exception {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
  }

  @Test
  void clientsTrustTheAuthorityThatTheyName() throws Exception {
    Path tls = tls("tls");
    Path foreign = tls("foreign");
    Path store = Cinch.quickStore(temp);
    try (Forked served = Forked.serveHere(temp, store, own(tls, "server"))) {
      String address = served.listening();
      assertTrue(address.startsWith("https://"), address);
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", address);
      cinch.run(patiently("--ca=" + tls.resolve("ca.pem"))).ended(0);
      cinch.run(acquire("--ca=" + foreign.resolve("ca.pem"))).failed(4, "certif");
      cinch.run(acquire()).failed(4, "certif");
      cinch.run(acquire("--ca=" + tls.resolve("none.pem"))).failed(4, "none.pem");
      cinch.run(acquire("--ca=" + tls.resolve("ca.key"))).failed(4, "holds no certificate");
      cinch.run(acquire("--server=" + address.replace("https", "http"))).failed(4, "");
      cinch.with("CINCH_CA", tls.resolve("ca.pem").toString());
      cinch.run(patiently(own(foreign, "server"))).ended(0); // it asks for none
      cinch.run("status").ended(0);
      String[] second = {"serve", "--port=0", "--key=" + temp.resolve("served.key")};
      cinch.run(with(second, own(tls, "server"))).failed(3, "serves this store already");
      cinch.with("CINCH_CA", foreign.resolve("ca.pem").toString());
      cinch.run(with(second, own(tls, "server"))).failed(3, "can't be asked");
    }
  }

  @Test
  void aServerMayAskForCertificates() throws Exception {
    Path tls = tls("tls", "web-1");
    Path foreign = tls("foreign", "web-1");
    Path store = Cinch.quickStore(temp);
    String[] options = with(own(tls, "server"), "--client-ca=" + tls.resolve("ca.pem"));
    try (Forked served = Forked.serveHere(temp, store, options)) {
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", served.listening());
      cinch.with("CINCH_CA", tls.resolve("ca.pem").toString());
      cinch.run(patiently(own(tls, "web-1"))).ended(0);
      String unknown = "name yours with --tls-cert FILE";
      cinch.run(acquire()).failed(4, unknown);
      cinch.run(acquire(own(foreign, "web-1"))).failed(4, unknown);
      cinch.with("CINCH_TLS_CERT", tls.resolve("web-1.pem").toString());
      cinch.with("CINCH_TLS_KEY", tls.resolve("web-1.key").toString());
      cinch.run(patiently()).ended(0);
      String wrong = "--tls-key=" + tls.resolve("ca.key");
      cinch.run(acquire(own(tls, "web-1")[0], wrong)).failed(4, "ca.key is no key of");
    }
  }

  /** Each says which option mends it, and of which server. */
  @Test
  void whatDoesNotComeToTermsIsSaidInWords() throws Exception {
    Path tls = tls("tls");
    Path foreign = tls("foreign").resolve("ca.pem");
    Path store = Cinch.quickStore(temp);
    try (Forked served = Forked.serveHere(temp, store, own(tls, "server"))) {
      String address = served.listening();
      String port = ":" + port(address);
      Cinch cinch = Cinch.on(store).with("CINCH_CA", tls.resolve("ca.pem").toString());
      cinch.with("CINCH_SERVER", address);
      cinch.run(patiently()).ended(0);
      cinch.with("CINCH_SERVER", "http://localhost" + port);
      cinch.run(acquire()).failed(4, "TLS is spoken there; the address begins with https://");
      cinch.with("CINCH_SERVER", address).with("CINCH_CA", foreign.toString());
      cinch
          .run(acquire())
          .failed(4, port + "/v1/leases/acquire: the server's certificate is signed");
      cinch.run(acquire()).failed(4, "with --ca FILE");
    }
    try (Forked plain = Forked.serveHere(temp, store)) {
      Cinch cinch = Cinch.on(store).with("CINCH_CA", tls.resolve("ca.pem").toString());
      cinch.with("CINCH_SERVER", "https://127.0.0.1:" + port(plain.listening()));
      cinch.run(acquire()).failed(4, "no TLS is spoken there");
    }
  }

  @Test
  void aCertificateMayStandForAToken() throws Exception {
    Path tls = tls("tls", "web-1", "web-2");
    Path store = Cinch.quickStore(temp);
    String[] add = {"token", "add", "--right=acquire:web/", "--certificate=web-1"};
    String tokens = "--tokens=" + temp.resolve("tokens");
    new Cinch().run(with(add, tokens)).ended(0);
    String[] options = with(own(tls, "server"), "--client-ca=" + tls.resolve("ca.pem"), "--auth");
    try (Forked served = Forked.serveHere(temp, store, with(options, tokens))) {
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", served.listening());
      cinch.with("CINCH_CA", tls.resolve("ca.pem").toString());
      String[] take = {"lease", "acquire", "--for=10s"};
      cinch.run(with(with(take, own(tls, "web-1")), "--wait=60s", "web/1")).ended(0);
      cinch
          .run(with(with(take, own(tls, "web-1")), "ci/1"))
          .failed(3, "it was sent by certificate web-1 at 127.0.0.1");
      cinch
          .run(with(with(take, own(tls, "web-2")), "web/2"))
          .failed(3, "it was sent by one without a token at 127.0.0.1");
    }
  }

  /** Also where the new one is wrong at first. */
  @Test
  void certificatesAreReadAgain() throws Exception {
    Path tls = tls("tls");
    Path store = Cinch.quickStore(temp);
    try (Forked served = Forked.serveHere(temp, store, own(tls, "server"))) {
      String address = served.listening();
      String before = shown(port(address));
      Path whole = tls.resolve("server.pem");
      byte[] good = Files.readAllBytes(whole);
      Path half = Files.write(tls.resolve("half"), java.util.Arrays.copyOf(good, 99));
      Files.move(half, whole, StandardCopyOption.REPLACE_EXISTING);
      assertEquals(before, shown(port(address)));
      new Cinch().run("tls", "init", tls.toString(), "--server=localhost").ended(0);
      while (shown(port(address)).equals(before)) {
        assertFalse(Thread.interrupted());
      }
      String ca = "--ca=" + tls.resolve("ca.pem");
      Cinch.on(store).with("CINCH_SERVER", address).run(patiently(ca)).ended(0);
    }
  }

  @Test
  void clientsReadTheirFilesAgain() throws Exception {
    Path tls = tls("tls");
    Path ca = Files.copy(tls("foreign").resolve("ca.pem"), temp.resolve("ca.pem"));
    var pem = new PemTls(Optional.of(ca), Optional.empty());
    try (Forked served = Forked.serveHere(temp, Cinch.quickStore(temp), own(tls, "server"))) {
      HttpLeaseClient client =
          HttpLeaseClient.builder(URI.create(served.listening()))
              .credentials(new Credentials(Optional.empty(), Optional.of(pem)))
              .requestTimeout(Duration.ofSeconds(60))
              .connectTimeout(Duration.ofSeconds(60))
              .build();
      assertThrows(LeaseUnavailableException.class, client::health);
      Files.copy(tls.resolve("ca.pem"), ca, StandardCopyOption.REPLACE_EXISTING);
      assertTrue(client.health().instance().isPresent());
    }
  }

  /** They let a client have the keys negotiated anew as often as it likes. */
  @Test
  void earlierVersionsOfTlsAreRefused() throws Exception {
    Path tls = tls("tls");
    try (Forked served = Forked.serveHere(temp, Cinch.quickStore(temp), own(tls, "server"))) {
      var pem = new PemTls(Optional.of(tls.resolve("ca.pem")), Optional.empty());
      String address = served.listening();
      for (String version : List.of("TLSv1.3", "TLSv1.2")) {
        try (var socket =
            (SSLSocket) pem.get().getSocketFactory().createSocket("127.0.0.1", port(address))) {
          socket.setEnabledProtocols(new String[] {version});
          if (version.equals("TLSv1.3")) {
            socket.startHandshake();
          } else {
            assertThrows(SSLException.class, socket::startHandshake);
          }
        }
      }
    }
  }

  /** One that says nothing keeps nobody waiting, and is cut off. */
  @Test
  void aHandshakeThatIsNotGoneOnWithIsCutOff() throws Exception {
    Path tls = tls("tls");
    Path store = Cinch.quickStore(temp);
    try (Forked served = Forked.serveHere(temp, store, own(tls, "server"))) {
      String address = served.listening();
      try (var slow = new Socket("127.0.0.1", port(address))) {
        slow.getOutputStream().write(22); // the first byte of a handshake
        String ca = "--ca=" + tls.resolve("ca.pem");
        Cinch.on(store).with("CINCH_SERVER", address).run(patiently(ca)).ended(0);
        while (slow.getInputStream().read() >= 0) {
          assertFalse(Thread.interrupted());
        }
      }
    }
  }

  @Test
  void whatGoesTogether() {
    var cinch = new Cinch();
    String key = "--key=" + temp.resolve("k");
    cinch.run("serve", "--first", key, "--port=0", "--tls-cert=a").failed(2, "go together");
    cinch.run("serve", "--first", key, "--port=0", "--client-ca=a").failed(2, "go together");
    cinch.run(acquire("--server=https://127.0.0.1:1", "--tls-key=a")).failed(2, "go together");
  }
}
