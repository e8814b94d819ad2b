package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.PemTls;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Strangers that leave their TLS handshakes unfinished. */
@Timeout(600)
final class HalfOpenTlsTest {
  /** The beginning of a client's first record. */
  private static final byte[] HELLO = {22, 3, 1, 0, (byte) 165, 1, 0, 0, (byte) 161, 3, 3};

  @TempDir private Path dir;
  private final Rig rig = new Rig();
  private final AtomicLong nanos = new AtomicLong();

  private PemTls own() throws Exception {
    Path keys = dir.resolve("keys.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    var command =
        new ProcessBuilder(
            keytool, "-genkeypair", "-keyalg", "EC", "-dname", "CN=x", "-alias", "x");
    command.command().addAll(List.of("-storepass", "secret", "-keystore", keys.toString()));
    assertEquals(0, command.inheritIO().start().waitFor());
    KeyStore store = KeyStore.getInstance(keys.toFile(), "secret".toCharArray());
    Path cert = pem("CERTIFICATE", store.getCertificate("x").getEncoded());
    Path key = pem("PRIVATE KEY", store.getKey("x", "secret".toCharArray()).getEncoded());
    return new PemTls(Optional.empty(), Optional.of(new PemTls.Own(cert, key)));
  }

  private Path pem(String what, byte[] bytes) throws Exception {
    String text = Base64.getMimeEncoder().encodeToString(bytes);
    String pem = "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n";
    return Files.writeString(dir.resolve(what), pem, US_ASCII);
  }

  private LeaseServer server(Connections.Limits limits) throws Exception {
    return LeaseServer.builder(rig.service, rig.service::info)
        .port(0)
        .tls(own(), false)
        .limits(limits)
        .clock(nanos::get)
        .start();
  }

  private void pass(LeaseServer server, long ms) {
    nanos.addAndGet(ms * 1_000_000);
    server.sweep();
  }

  @Test
  void theyAreClosedInTheTimeOfARequest() throws Exception {
    var limits = new Connections.Limits(8, 8, 10_000, 60_000, 30_000, 1 << 20);
    try (LeaseServer server = server(limits);
        var silent = new RawClient(server.port());
        var half = new RawClient(server.port()).send(HELLO)) {
      while (server.connections() < 2) {
        Thread.onSpinWait();
      }
      pass(server, 10_000); // what has begun to speak has as long again
      pass(server, 10_000);
      pass(server, Connections.LINGER_MS);
      assertTrue(silent.isClosed());
      assertTrue(half.isClosed());
    }
  }

  @Test
  void theOldestOfTooManyGoes() throws Exception {
    var limits = new Connections.Limits(2, 2, 10_000, 60_000, 30_000, 1 << 20);
    var all = new ArrayList<RawClient>();
    try (LeaseServer server = server(limits)) {
      for (int i = 0; i < 5; i++) {
        all.add(new RawClient(server.port()).send(HELLO));
        if (i >= 2) {
          assertTrue(all.get(i - 2).isClosed());
        }
        while (server.connections() < Math.min(i + 1, 2)) {
          Thread.onSpinWait();
        }
      }
      assertEquals(2, server.connections());
    } finally {
      for (RawClient each : all) {
        each.close();
      }
    }
  }
}
