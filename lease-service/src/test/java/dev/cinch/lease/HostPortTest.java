package dev.cinch.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.URI;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class HostPortTest {
  @ParameterizedTest
  @CsvSource({
    "http://lease_server:8470, lease_server, 8470",
    "http://node.01:80/x, node.01, 80",
    "http://_a-, _a-, -1",
    "http://A.Example.:8470, A.Example., 8470",
    "http://127.0.0.1:, 127.0.0.1, -1",
    "http://[fe80::1%eth0]:1, [fe80::1%eth0], 1",
    "http://[fe80::1%25eth0]:1, [fe80::1%25eth0], 1"
  })
  void readsWhateverNameAMachineHas(String address, String host, int port) {
    assertEquals(Optional.of(new HostPort(host, port)), HostPort.of(URI.create(address)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"http:a", "http:///x", "http://:8470", "http://a:65536", "http://u@a:1"})
  void readsNothingElse(String address) {
    assertEquals(Optional.empty(), HostPort.of(URI.create(address)));
  }

  @Test
  void knowsTheMachineItself() {
    for (String own : new String[] {"localhost", "LOCALHOST.:1", "127.9.9.9", "[::1]:2"}) {
      assertEquals(true, HostPort.parse(own).orElseThrow().isLoopback(), own);
    }
    for (String other :
        new String[] {"127.0.0.1.example", "localhost.example", "10.0.0.1", "[::2]"}) {
      assertEquals(false, HostPort.parse(other).orElseThrow().isLoopback(), other);
    }
  }
}
