package dev.cinch.lease.time.roughtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.roughtime.RoughtimeChain.Conflict;
import dev.cinch.lease.witness.SigningKey;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Servers asked one after the other, and the report of what they said. */
class RoughtimeChainTest {
  private static final long SECOND = 1_000_000_000L;

  private final Random random = new Random(1);
  private final SigningKey one = SigningKey.ofSeed(new byte[32]);
  private final SigningKey two = SigningKey.generate();

  private void ask(RoughtimeChain chain, SigningKey server, long seconds)
      throws RoughtimeException {
    RoughtimeChain.Question question = chain.next(server.publicKey(), random);
    TimeBound now = TimeBound.around(ManualTime.START + seconds * SECOND, SECOND, Kind.MEASURED);
    byte[] packet = question.request().packet();
    byte[] response =
        new Responder(server)
            .answer(List.of(RoughtimeRequest.read(packet, server.publicKey())), now)
            .get(0);
    chain.add(question, RoughtimeReply.verify(response, question.request(), server.publicKey()));
  }

  @Test
  void serversThatAgreeLeaveNoConflict() throws RoughtimeException {
    var chain = new RoughtimeChain();
    ask(chain, one, 0);
    ask(chain, two, 1);
    ask(chain, one, 2);
    ask(chain, two, -3); // 3 s of radius each
    assertEquals(List.of(), chain.conflicts());
  }

  @Test
  void aServerThatGoesBackInTimeIsFoundWhoeverItIs() throws RoughtimeException {
    var chain = new RoughtimeChain();
    ask(chain, one, 0);
    ask(chain, two, 60);
    ask(chain, one, 0);
    ask(chain, two, 60);
    assertEquals(List.of(new Conflict(1, 2, 54)), chain.conflicts());
    // One that is behind shows at once; one that is ahead only when the others are asked again.
    var behind = new RoughtimeChain();
    ask(behind, one, 0);
    ask(behind, two, -7);
    assertEquals(List.of(new Conflict(0, 1, 1)), behind.conflicts());
  }

  @Test
  void theReportProvesWhatWasSaid() throws RoughtimeException {
    var chain = new RoughtimeChain();
    ask(chain, one, 0);
    ask(chain, two, -3_600);
    ask(chain, one, 1);
    byte[] report = MalfeasanceReport.write(chain);
    RoughtimeChain read = MalfeasanceReport.read(report);
    assertEquals(chain.conflicts(), read.conflicts());
    assertEquals(chain.servers(), read.servers());
    assertEquals(
        chain.replies().stream().map(RoughtimeReply::midpointSeconds).toList(),
        read.replies().stream().map(RoughtimeReply::midpointSeconds).toList());
  }

  @Test
  void aReportInAnotherOrderProvesNothing() throws RoughtimeException {
    var chain = new RoughtimeChain();
    ask(chain, one, 0);
    ask(chain, two, 0);
    String report = new String(MalfeasanceReport.write(chain), StandardCharsets.UTF_8);
    String key = ServerKeys.text(two.publicKey());
    refused("response 2: the certificate is not signed", report.replace(key, other()));
    refused("response 2: no text for \"rand\"", report.replace("\"rand\"", "\"blind\""));
    var apart = new RoughtimeChain();
    ask(apart, two, 0); // the same server, not asked after the first
    String alone = new String(MalfeasanceReport.write(apart), StandardCharsets.UTF_8);
    String spliced =
        report.substring(0, report.indexOf('}') + 1)
            + ","
            + alone
                .substring(alone.indexOf('[') + 1)
                .replace("\"publicKey\"", "\"rand\": \"" + "A".repeat(43) + "=\", \"publicKey\"");
    refused("response 2: the nonce of response 2 is not made of the one before", spliced);
  }

  private static String other() {
    return ServerKeys.text(SigningKey.generate().publicKey());
  }

  private static void refused(String why, String report) {
    byte[] bytes = report.getBytes(StandardCharsets.UTF_8);
    var e = assertThrows(RoughtimeException.class, () -> MalfeasanceReport.read(bytes));
    assertTrue(String.valueOf(e.getMessage()).startsWith(why), e.getMessage());
  }

  @Test
  void whatIsNoReportIsRefusedInWords() {
    refused("not a report: not JSON", "{");
    refused("not a report: no list", "");
    refused("not a report: no list", "{\"responses\": []}");
    refused("not a report: no list", "{\"responses\": 7}");
    refused("response 1: no text for \"publicKey\"", "{\"responses\": [{}]}");
    refused("response 1: \"publicKey\" is not base64", "{\"responses\": [{\"publicKey\": \"?\"}]}");
    refused(
        "response 1: \"publicKey\" has 3 bytes", "{\"responses\": [{\"publicKey\": \"AAAA\"}]}");
  }

  @Test
  void keysAreReadAsPeopleWriteThem() {
    assertEquals(one.publicKey(), ServerKeys.parse(ServerKeys.text(one.publicKey())));
    assertEquals(one.publicKey(), ServerKeys.parse(one.publicKey() + "\n"));
    for (String wrong : new String[] {"", "A".repeat(44), "?".repeat(44), "0".repeat(63)}) {
      assertThrows(IllegalArgumentException.class, () -> ServerKeys.parse(wrong), wrong);
    }
  }
}
