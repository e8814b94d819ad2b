package dev.cinch.lease.register.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A real etcd that wants certificates of its clients, and a user's password. */
@Timeout(600)
final class EtcdTlsTest {
  private static final LeaseName A = new LeaseName("a");

  @TempDir Path dir;

  private static EtcdRegister register(EtcdCluster etcd) {
    return EtcdRegister.of(etcd, "test", 60_000, SystemTime.INSTANCE, new Random(1));
  }

  private static boolean put(EtcdRegister register, String value) throws Exception {
    return register
        .change(A, found -> Optional.of(value.getBytes(US_ASCII)))
        .get(60, TimeUnit.SECONDS);
  }

  private static String failure(EtcdRegister register) {
    Exception e = assertThrows(ExecutionException.class, () -> put(register, "x"));
    return String.valueOf(e.getCause());
  }

  private EtcdCluster cluster(EtcdCell etcd, SSLContext tls) {
    return new EtcdCluster(etcd.endpoints(), Optional.of(tls), Optional.empty());
  }

  @Test
  void leasesAreKeptWithACertificateOfEachKindAndWithoutOneNotAtAll() throws Exception {
    var certificates = new TestCertificates(dir.resolve("tls")).make("member", "-newkey rsa:2048");
    certificates.make("rsa", "-newkey rsa:2048");
    certificates.make("ec", "-newkey ec -pkeyopt ec_paramgen_curve:P-256");
    Optional<Path> ca = Optional.of(certificates.file("ca.pem"));
    try (EtcdCell etcd = EtcdCell.startWithTls(dir, certificates)) {
      for (String name : List.of("rsa", "ec")) {
        var own =
            new PemFiles.Own(certificates.file(name + ".pem"), certificates.file(name + ".key"));
        SSLContext tls = PemFiles.client(ca, Optional.of(own));
        try (EtcdRegister register = register(cluster(etcd, tls))) {
          assertTrue(put(register, name));
        }
      }
      try (EtcdRegister register = register(cluster(etcd, PemFiles.client(ca, Optional.empty())))) {
        String why = failure(register);
        assertTrue(why.contains("etcd at https://127.0.0.1"), why);
      }
      try (EtcdRegister register = register(EtcdCluster.at(etcd.endpoints()))) {
        String why = failure(register);
        assertTrue(why.contains("no TLS connection"), why);
      }
    }
  }

  private static void root(Gateway gateway, String path, String... fields) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    for (int i = 0; i < fields.length; i += 2) {
      body.put(fields[i], fields[i + 1]);
    }
    try {
      var unused =
          gateway.ask("/v3/auth/" + path, body, false, gateway.now() + 60_000_000_000L).join();
    } catch (CompletionException e) { // an attempt whose answer came too late has made it
      assertTrue(String.valueOf(e.getMessage()).contains("already exists"), e.toString());
    }
  }

  @Test
  void aUserIsKnownByItsPasswordAlsoAfterEtcdWasRestarted() throws Exception {
    var certificates = new TestCertificates(dir.resolve("tls")).make("member", "-newkey rsa:2048");
    var own = new PemFiles.Own(certificates.file("member.pem"), certificates.file("member.key"));
    SSLContext tls = PemFiles.client(Optional.of(certificates.file("ca.pem")), Optional.of(own));
    try (EtcdCell etcd = EtcdCell.startWithTls(dir, certificates)) {
      try (var gateway = new Gateway(cluster(etcd, tls), SystemTime.INSTANCE, new Random(1))) {
        root(gateway, "user/add", "name", "root", "password", "p1");
        root(gateway, "role/add", "name", "root");
        root(gateway, "user/grant", "user", "root", "role", "root");
        root(gateway, "enable");
      }
      try (EtcdRegister nobody = register(cluster(etcd, tls))) {
        String why = failure(nobody);
        assertTrue(why.contains("permission denied"), why);
      }
      var wrong = new EtcdCluster.User("root", "p2");
      try (EtcdRegister stranger =
          register(new EtcdCluster(etcd.endpoints(), Optional.of(tls), Optional.of(wrong)))) {
        String why = failure(stranger);
        assertTrue(why.contains("user root: ") && !why.contains("p2"), why);
      }
      var right = new EtcdCluster.User("root", "p1");
      try (EtcdRegister register =
          register(new EtcdCluster(etcd.endpoints(), Optional.of(tls), Optional.of(right)))) {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        register.listen((name, value) -> heard.add(name));
        assertTrue(put(register, "one"));
        etcd.kill(0); // and with it the tokens that it gave
        etcd.restart(0);
        assertTrue(put(register, "two"));
        for (int i = 0; heard.poll(10, TimeUnit.MILLISECONDS) == null; i++) {
          assertTrue(i < 6_000 && put(register, "x" + i), "no event comes");
        }
      }
    }
  }

  @Test
  void noPasswordGoesInTheClear() {
    var user = Optional.of(new EtcdCluster.User("root", "secret"));
    List<URI> plain = List.of(URI.create("https://127.0.0.1:1"), URI.create("http://127.0.0.1:2"));
    var e =
        assertThrows(
            IllegalArgumentException.class, () -> new EtcdCluster(plain, Optional.empty(), user));
    assertTrue(String.valueOf(e.getMessage()).contains("http://127.0.0.1:2"));
    assertEquals("root", user.get().toString());
  }

  @Test
  void filesThatAreNoneAreNamed() throws Exception {
    Path none = Files.writeString(dir.resolve("none.pem"), "nothing\n");
    Path other =
        Files.writeString(
            dir.resolve("other.key"),
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n");
    var certificates = new TestCertificates(dir.resolve("tls"));
    String why =
        String.valueOf(
            assertThrows(
                    IOException.class, () -> PemFiles.client(Optional.of(none), Optional.empty()))
                .getMessage());
    assertTrue(why.startsWith(none.toString()), why);
    var own = new PemFiles.Own(certificates.file("ca.pem"), other);
    why =
        String.valueOf(
            assertThrows(
                    IOException.class, () -> PemFiles.client(Optional.empty(), Optional.of(own)))
                .getMessage());
    assertTrue(why.startsWith(other + ": ") && why.contains("openssl pkcs8"), why);
  }
}
