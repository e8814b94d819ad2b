package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers as servers, and what stands between, may send them. */
final class ReplyTest {
  private static final int MOST = 1_000;

  /** Bytes in pieces of so many. */
  private static InputStream in(IntFunction<byte[]> sent, int piece) {
    return new BufferedInputStream(
        new InputStream() {
          private int at;

          @Override
          public int read() throws IOException {
            throw new IOException("not asked for");
          }

          @Override
          public int read(byte[] into, int offset, int length) {
            byte[] next = sent.apply(at);
            int count = Math.min(Math.min(piece, length), next.length);
            System.arraycopy(next, 0, into, offset, count);
            at += count;
            return count == 0 ? -1 : count;
          }
        });
  }

  private static Reply of(String answer, int piece) throws IOException {
    byte[] bytes = answer.getBytes(ISO_8859_1);
    int most = Math.min(piece, bytes.length);
    return reply(in(at -> Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + most)), piece));
  }

  private static Reply reply(InputStream in) throws IOException {
    return new Reply(in, Set.of("x"), keep -> {});
  }

  /** An answer, its body, and whether the connection may be used again; "|" stands for CR LF. */
  @ParameterizedTest
  @CsvSource({
    "HTTP/1.1 200 OK|Content-Length: 2||{},true",
    "HTTP/1.1 200|content-length:2||{},true",
    "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 2||{},true",
    "HTTP/1.1 200 OK|Content-Length: 2|Connection: Close||{},false",
    "HTTP/1.1 200 OK|Content-Length: 2||{}x,false",
    "HTTP/1.0 200 OK|Content-Length: 2||{},false",
    "HTTP/1.1 200 OK||{},false",
    "HTTP/1.1 100 Continue||HTTP/1.1 103 Hints|X: y||HTTP/1.1 200 OK|Content-Length: 2||{},true",
    "HTTP/1.1 200 OK|Transfer-Encoding: chunked||1|{|01;a=b|}|0||,true",
    "HTTP/1.1 200 OK|Transfer-Encoding: Chunked||2|{}|0|X: y||,true",
    "HTTP/1.1 200 OK|Transfer-Encoding: chunked|Content-Length: 7||2|{}|0||,false"
  })
  void answersAreReadHoweverTheyArrive(String answer, boolean keep) throws Exception {
    String sent = answer.replace("|", "\r\n");
    for (int piece : new int[] {1, 2, 7, 10_000}) {
      Reply reply = of(sent, piece);
      assertEquals(200, reply.status());
      assertEquals("{}", new String(reply.whole(MOST), ISO_8859_1));
      // What follows may not have been read yet; then the next use of the connection meets it.
      assertTrue(keep == reply.keep() || (!keep && sent.endsWith("x")), sent);
    }
  }

  /** Longer than what room is made for at first. */
  @Test
  void longBodiesAreReadHoweverTheyArrive() throws Exception {
    String body = "0123456789".repeat(300_000);
    String sent = "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    for (int piece : new int[] {997, 10_000_000}) {
      Reply reply = of(sent, piece);
      assertEquals(body, new String(reply.whole(body.length()), ISO_8859_1));
      assertTrue(reply.keep());
      assertThrows(IOException.class, () -> of(sent, piece).whole(body.length() - 1));
      String part = sent.substring(0, sent.length() - 1);
      assertThrows(IOException.class, () -> of(part, piece).whole(body.length()));
    }
  }

  @Test
  void whatHasNoBodyEndsWithItsHead() throws Exception {
    Reply reply = of("HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n", 10_000);
    assertEquals(204, reply.status());
    assertEquals(0, reply.whole(MOST).length);
    assertTrue(reply.keep());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK|Content-Length: 2",
        "HTTP/1.1 200 OK|Content-Length: 2||{",
        "HTTP/1.1 200 OK|Content-Length: -2||{}",
        "HTTP/1.1 200 OK|Content-Length: 2.0||{}",
        "HTTP/1.1 200 OK|Content-Length:||{}",
        "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 3||{}x",
        "HTTP/1.1 200 OK|Content-Length: 1001||{}",
        "HTTP/1.1 200 OK|Content-Length: 9223372036854775807||{}",
        "HTTP/1.1 200 OK|Content-Length: 99999999999999999999||{}",
        "HTTP/1.1 200 OK|Transfer-Encoding: gzip||{}",
        "HTTP/1.1 200 OK|Transfer-Encoding: gzip, chunked||2|{}|0||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked|Transfer-Encoding: chunked||2|{}|0||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|{}|",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|{}0||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||1|{}|0||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||-1|{}|0||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||3E9|{}|0||",
        "HTTP/1.1 200 OK|no colon||{}",
        "HTTP/1.1 20 OK||{}",
        "HTTP/1.1 2000 OK||{}",
        "HTTP/1.1 099 OK||{}",
        "HTTP/1.1  200 OK||{}",
        "HTTP/2 200 OK||{}",
        "SSH-2.0-OpenSSH_9.2p1||"
      })
  void whatIsNoWholeAnswerIsRefused(String answer) {
    for (int piece : new int[] {1, 10_000}) {
      String sent = answer.replace("|", "\r\n");
      assertThrows(IOException.class, () -> of(sent, piece).whole(MOST), answer);
    }
  }

  @Test
  void nothingIsTakenWithoutEnd() {
    for (String endless : new String[] {"x", "X: y\r\n", "HTTP/1.1 100 Continue\r\n\r\n"}) {
      byte[] bytes = endless.getBytes(ISO_8859_1);
      byte[] start = "HTTP/1.1 200 OK\r\n".getBytes(ISO_8859_1);
      boolean whole = endless.startsWith("HTTP");
      IntFunction<byte[]> sent =
          i ->
              new byte[] {
                whole || i >= start.length
                    ? bytes[(whole ? i : i - start.length) % bytes.length]
                    : start[i]
              };
      IOException e = assertThrows(IOException.class, () -> reply(in(sent, 1)));
      assertEquals("the answer's head does not end", e.getMessage());
    }
  }

  @Test
  void theHeadersThatWereWantedAreKept() throws Exception {
    String hints = "HTTP/1.1 103 Hints\r\nX: no\r\n\r\n";
    Reply reply = of(hints + "HTTP/1.1 204 None\r\nX:  A b \r\nY: c\r\n\r\n", 10_000);
    assertEquals(Optional.of("A b"), reply.header("x"));
    assertEquals(Optional.empty(), reply.header("y"));
    assertEquals(Optional.empty(), of(hints + "HTTP/1.1 204 None\r\n\r\n", 10_000).header("x"));
  }

  /** Once: then the connection is somebody else's. */
  @Test
  void aConnectionIsLeftToOthersOnceAndAfterTheWholeAnswer() throws Exception {
    byte[] sent = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".getBytes(ISO_8859_1);
    for (int read = 0; read <= 2; read++) {
      var left = new ArrayList<Boolean>();
      InputStream in = in(at -> Arrays.copyOfRange(sent, at, sent.length), sent.length);
      try (var reply = new Reply(in, Set.of(), left::add)) {
        assertEquals(read, reply.body().readNBytes(read).length);
        reply.close();
      }
      assertEquals(List.of(read == 2), left);
    }
  }
}
