package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import javax.net.ssl.SSLServerSocket;

/**
 * A server that sends the answers it was given, one after the other, and keeps what it was asked.
 */
public final class FakeS3 implements AutoCloseable {
  /** In place of an answer: it says nothing, and holds the connection. */
  static final String SILENCE = "...";

  /**
   * A request.
   *
   * @param head its lines
   */
  record Asked(String head, String body) {
    String first() {
      return head.lines().findFirst().orElseThrow();
    }

    /** The line of a header, in small letters; empty if there is none. */
    String header(String name) {
      return head.lines()
          .map(line -> line.toLowerCase(Locale.ROOT))
          .filter(line -> line.startsWith(name + ":"))
          .findFirst()
          .orElse("");
    }
  }

  /** What it sends, and whether it hangs up then. */
  private record Planned(String answer, boolean hangsUp) {}

  final List<Asked> asked = Collections.synchronizedList(new ArrayList<>());
  private final ServerSocket listening;
  private final Queue<Planned> answers = new ArrayDeque<>();

  public FakeS3() throws IOException {
    this(new ServerSocket(0, 10, InetAddress.getLoopbackAddress()));
  }

  /**
   * @param listening which may speak TLS
   */
  FakeS3(ServerSocket listening) {
    this.listening = listening;
    start(
        () -> {
          while (true) {
            Socket socket = listening.accept();
            start(() -> serve(socket));
          }
        });
  }

  public String address() {
    return (listening instanceof SSLServerSocket ? "https" : "http")
        + "://127.0.0.1:"
        + listening.getLocalPort();
  }

  /** Sends this next, as it is, and hangs up. */
  FakeS3 raw(String answer) {
    return plan(answer, true);
  }

  /** Sends this next; "|" stands for the end of a line. */
  public FakeS3 answer(String statusAndHeaders, String body) {
    String head = statusAndHeaders.replace("|", "\r\n");
    return plan(
        "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s".formatted(head, body.length(), body), false);
  }

  private synchronized FakeS3 plan(String answer, boolean hangsUp) {
    answers.add(new Planned(answer, hangsUp));
    return this;
  }

  /** Refuses what is asked next. */
  public FakeS3 error(String statusAndHeaders, String code) {
    return answer(statusAndHeaders, xml(code));
  }

  static String xml(String code) {
    return "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>Said so.</Message></Error>"
        .formatted(code);
  }

  private synchronized Planned next() {
    return answers.remove();
  }

  private void serve(Socket socket) throws IOException {
    try (socket) {
      InputStream in = socket.getInputStream();
      while (true) {
        var head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
          int c = in.read();
          if (c < 0) {
            return;
          }
          head.append((char) c);
        }
        var without = new Asked(head.toString(), "");
        String length = without.header("content-length").replaceFirst(".*: ", "");
        byte[] body = in.readNBytes(length.isEmpty() ? 0 : Integer.parseInt(length));
        asked.add(new Asked(head.toString(), new String(body, ISO_8859_1)));
        Planned next = next();
        if (next.answer().equals(SILENCE)) {
          int unused = in.read(); // until the client hangs up
          return;
        }
        socket.getOutputStream().write(next.answer().getBytes(ISO_8859_1));
        if (next.hangsUp()) {
          return;
        }
      }
    }
  }

  private interface Step {
    void run() throws IOException;
  }

  private static void start(Step what) {
    var thread =
        new Thread(
            () -> {
              try {
                what.run();
              } catch (IOException e) {
                // Closed by the test.
              }
            },
            "fake-s3");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    listening.close();
  }
}
