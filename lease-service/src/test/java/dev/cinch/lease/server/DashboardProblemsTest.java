package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the page's script tells of what needs attention; Node.js runs a part of it. */
@Timeout(60)
final class DashboardProblemsTest {
  private static final Path NODE = Path.of("/usr/bin/node");

  /** The messages of a report that are told besides what the server says of itself. */
  private static String told(String why, String status) throws Exception {
    assumeTrue(Files.isExecutable(NODE), "SKIPPED: there is no Node.js to run the script");
    String script = new String(Dashboard.file("/dashboard.js").body(), UTF_8);
    int from = script.indexOf("function isOwn");
    String program =
        "const self = 7; const standing = { why: \"%s\" };\n%s\nconst status = %s;\n"
                .formatted(why, script.substring(from, script.indexOf("\n}\n", from) + 3), status)
            + "console.log(status.attention.filter((a) => !isOwn(a, status)).map((a) => a.message).join());";
    Process node =
        new ProcessBuilder(NODE.toString(), "-e", program).redirectErrorStream(true).start();
    node.getOutputStream().close();
    String said = new String(node.getInputStream().readAllBytes(), UTF_8);
    assertEquals(0, node.waitFor(), said);
    return said.strip();
  }

  private static String report(String server, String... messages) {
    var attention = new StringBuilder();
    for (String message : messages) {
      attention.append("{ kind: 'ANY', message: \"").append(message).append("\" }, ");
    }
    return "{ attention: [" + attention + "], " + server + " }";
  }

  @Test
  void whatTheServerSaysOfItselfIsToldOnce() throws Exception {
    String server = "server: { state: 'NOT_GRANTING', address: 'http://a:1', instance: 7 }";
    String own = "the lease server at http://a:1: grants again in 5 s";
    String time = "the lease server's time sources: chrony does not answer";
    String clock = "this machine's clock is 2 s ahead of the storage's";
    assertEquals("DISK", told("", report(server, own, time, "DISK")));
    assertEquals(clock, told("", report(server, clock)));
    assertEquals("", told("it says: this machine's clock is 2.001 s ahead", report(server, clock)));
  }

  @Test
  void whatIsSaidOfAnotherOneIsTold() throws Exception {
    String other = "the lease server at http://b:1: grants again in 5 s";
    String unreachable = "the lease server at http://a:1: connection refused";
    String server = "server: { state: 'SILENT', address: 'http://a:1', instance: 7 }";
    assertEquals(unreachable, told("", report(server, unreachable)));
    server = "server: { state: 'NOT_GRANTING', address: 'http://b:1', instance: 8 }";
    assertEquals(other, told("", report(server, other)));
  }

  @Test
  void ofShardsItsOwn() throws Exception {
    String shards =
        "shards: { shards: 2, servers: ["
            + "{ shard: 1, state: 'NOT_GRANTING', address: 'http://a:1', instance: 7 },"
            + "{ shard: 2, state: 'NOT_GRANTING', address: 'http://b:1', instance: 8 }] }";
    String first = "shard 1/2: the lease server at http://a:1: grants again in 5 s";
    String second = "shard 2/2: the lease server at http://b:1: grants again in 5 s";
    String time = "shard 2/2: the lease server's time sources: chrony does not answer";
    assertEquals(second + "," + time, told("", report(shards, first, second, time)));
  }
}
