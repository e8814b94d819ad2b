package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ServerAddressesTest {
  private static String many(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> "http://h:" + (1 + i))
        .collect(Collectors.joining(","));
  }

  @Test
  void oneAndSeveralAreReadAsTheyAreWritten() {
    for (String text : new String[] {"http://a:1", "http://a:1,https://b,http://[::1]:3/x"}) {
      assertEquals(text, ServerAddresses.parse(text).toString());
    }
    assertEquals("http://a:1", ServerAddresses.of(URI.create("http://a:1/")).toString());
    assertEquals(16, ServerAddresses.parse(many(16)).all().size());
  }

  @Test
  void theOrderDoesNotMakeThemOthers() {
    ServerAddresses both = ServerAddresses.parse("http://a:1,http://b:1");
    assertTrue(both.sameAs(ServerAddresses.parse("http://b:1/,http://a:1")));
    assertFalse(both.sameAs(ServerAddresses.parse("http://a:1")));
    assertFalse(both.sameAs(ServerAddresses.parse("http://a:1,http://c:1")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''|not the address of a lease service:  (like http://127.0.0.1:8470)",
        "ftp://x|not the address of a lease service: ftp://x (like http://127.0.0.1:8470)",
        "http://a:1, http://b:1|not the address of a lease service: ' http://b:1 (like"
            + " http://127.0.0.1:8470)'",
        "http://a:1,b:1|not the address of a lease service: b:1 (like http://127.0.0.1:8470)",
        "http://a:1?x|not the address of a lease service: http://a:1?x (like"
            + " http://127.0.0.1:8470)",
        ",|an address of a lease service is missing beside a comma: ,",
        "http://a:1,|an address of a lease service is missing beside a comma: http://a:1,",
        "http://a:1,,http://b:1|an address of a lease service is missing beside a comma:"
            + " http://a:1,,http://b:1",
        "http://a:1,http://a:1/|the address of a lease service is there twice: http://a:1",
      })
  void whatIsNoneIsRefused(String text, String said) {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> ServerAddresses.parse(text));
    assertEquals(said.replace("'", ""), e.getMessage());
  }

  @Test
  void tooManyAreRefused() {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> ServerAddresses.parse(many(17)));
    assertEquals("a lease service has 1 to 16 addresses, not 17", e.getMessage());
  }
}
