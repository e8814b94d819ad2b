package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.time.SystemTime;
import io.etcd.jetcd.api.AuthEnableRequest;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthRoleAddRequest;
import io.etcd.jetcd.api.AuthUserAddRequest;
import io.etcd.jetcd.api.AuthUserGrantRoleRequest;
import io.grpc.MethodDescriptor;
import io.netty.handler.ssl.SslContext;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A real etcd that wants certificates of its clients, and a user's password. */
@Timeout(600)
@Isolated // the first connection by TLS takes long enough
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

  /** Why etcd can't be asked; on a busy machine it may take several attempts to know. */
  private static String failure(EtcdRegister register) {
    String why;
    do {
      Exception e = assertThrows(ExecutionException.class, () -> put(register, "x"));
      why = String.valueOf(e.getCause());
    } while (why.contains("has not answered within"));
    return why;
  }

  private EtcdCluster cluster(EtcdCell etcd, SslContext tls) {
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
            new EtcdCluster.Own(certificates.file(name + ".pem"), certificates.file(name + ".key"));
        SslContext tls = EtcdCluster.tls(ca, Optional.of(own));
        try (EtcdRegister register = register(cluster(etcd, tls))) {
          assertTrue(put(register, name));
        }
      }
      try (EtcdRegister register = register(cluster(etcd, EtcdCluster.tls(ca, Optional.empty())))) {
        String why = failure(register);
        assertTrue(why.contains("etcd at https://127.0.0.1"), why);
      }
      try (EtcdRegister register = register(EtcdCluster.at(etcd.endpoints()))) {
        String why = failure(register);
        assertTrue(why.contains("no TLS connection"), why);
      }
    }
  }

  private static <Q extends Message, A extends Message> void root(
      EtcdCalls calls, MethodDescriptor<Q, A> method, Q request) {
    try {
      var unused = calls.ask(method, request, calls.now() + 60_000_000_000L).join();
    } catch (CompletionException e) { // an attempt whose answer came too late has made it
      assertTrue(String.valueOf(e.getMessage()).contains("already exists"), e.toString());
    }
  }

  @Test
  void aUserIsKnownByItsPasswordAlsoAfterEtcdWasRestarted() throws Exception {
    var certificates = new TestCertificates(dir.resolve("tls")).make("member", "-newkey rsa:2048");
    var own = new EtcdCluster.Own(certificates.file("member.pem"), certificates.file("member.key"));
    SslContext tls = EtcdCluster.tls(Optional.of(certificates.file("ca.pem")), Optional.of(own));
    try (EtcdCell etcd = EtcdCell.startWithTls(dir, certificates)) {
      try (var calls = new EtcdCalls(cluster(etcd, tls), SystemTime.INSTANCE, new Random(1))) {
        root(
            calls,
            AuthGrpc.getUserAddMethod(),
            AuthUserAddRequest.newBuilder().setName("root").setPassword("p1").build());
        root(
            calls,
            AuthGrpc.getRoleAddMethod(),
            AuthRoleAddRequest.newBuilder().setName("root").build());
        root(
            calls,
            AuthGrpc.getUserGrantRoleMethod(),
            AuthUserGrantRoleRequest.newBuilder().setUser("root").setRole("root").build());
        root(calls, AuthGrpc.getAuthEnableMethod(), AuthEnableRequest.getDefaultInstance());
      }
      try (EtcdRegister nobody = register(cluster(etcd, tls))) {
        String why = failure(nobody);
        assertTrue(why.contains("permission denied"), why);
      }
      certificates.make("user", "-newkey rsa:2048", "/CN=root");
      var its = new EtcdCluster.Own(certificates.file("user.pem"), certificates.file("user.key"));
      EtcdCluster byCertificate =
          EtcdCluster.of(
              etcd.endpoints(),
              Optional.of(certificates.file("ca.pem")),
              Optional.of(its),
              Optional.empty());
      try (EtcdRegister register = register(byCertificate)) {
        assertTrue(put(register, "by its certificate"));
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
                    IOException.class, () -> EtcdCluster.tls(Optional.of(none), Optional.empty()))
                .getMessage());
    assertTrue(why.contains(none + ": "), why);
    var own = new EtcdCluster.Own(certificates.file("ca.pem"), other);
    why =
        String.valueOf(
            assertThrows(
                    IOException.class, () -> EtcdCluster.tls(Optional.empty(), Optional.of(own)))
                .getMessage());
    assertTrue(why.contains(other + ": ") && why.contains("openssl pkcs8"), why);
  }
}
