package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.lease.Between;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.OperationCodec;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several operations in one request. */
@Timeout(600)
final class BatchApiTest {
  private static final Rig RIG = new Rig();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static LeaseServer server;

  @BeforeAll
  static void start() throws IOException {
    server = LeaseServer.builder(RIG.service, RIG.service::info).port(0).start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  private static HttpResponse<byte[]> post(String what, byte[] body)
      throws IOException, InterruptedException {
    URI uri = URI.create(server.uri() + "/v1/leases/" + what);
    return HTTP.send(
        HttpRequest.newBuilder(uri)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofByteArray(body))
            .build(),
        HttpResponse.BodyHandlers.ofByteArray());
  }

  private static List<Outcome> batch(List<Operation> operations) throws Exception {
    byte[] body = LeaseDocuments.bytes(OperationCodec.writeBatch(operations));
    HttpResponse<byte[]> response = post("batch", body);
    assertEquals(200, response.statusCode(), () -> new String(response.body(), UTF_8));
    assertEquals(Optional.of("application/json"), response.headers().firstValue("Content-Type"));
    return OperationCodec.readOutcomes(JsonFields.parse(response.body()));
  }

  private static Operation acquire(Operation.Acquire request) {
    return request;
  }

  private static Grant granted(Outcome outcome) {
    return assertInstanceOf(Outcome.Granted.class, outcome).grant();
  }

  @Test
  void everyKindOfOperationComesThrough() throws Exception {
    Operation.Acquire a = RIG.request("batch/a", "batch/b");
    Operation.Acquire taken = RIG.request("batch/b");
    var metadata = new LeaseReport.Metadata(new Id(1, 2), 1_767_225_600_000_000_000L, "m-1.log");
    var report =
        new LeaseReport(
            OptionalLong.of(RIG.service.now() + 1),
            true,
            List.of(metadata),
            OptionalLong.of(RIG.service.number()));
    List<Outcome> outcomes =
        batch(
            List.of(
                acquire(a),
                acquire(taken),
                new Operation.Renew(a.id(), Rig.LEASE_MS, LogSet.ALL, report),
                new Operation.Upgrade(a.id(), Rig.LEASE_MS),
                new Operation.Release(taken.id(), LeaseReport.NOTHING),
                new Operation.Release(a.id(), LeaseReport.NOTHING)));
    assertEquals(2, granted(outcomes.get(0)).witnesses().size());
    assertEquals(
        "HELD", assertInstanceOf(Outcome.Refused.class, outcomes.get(1)).refusal().reason().name());
    SignedWitness renewed = granted(outcomes.get(2)).witnesses().get(0);
    assertTrue(renewed.witness().logs().all());
    assertEquals(List.of(metadata), RIG.service.show(a.names().get(0)).orElseThrow().recent());
    assertEquals(a.id(), granted(outcomes.get(3)).id());
    assertEquals(
        "NOT_HELD",
        assertInstanceOf(Outcome.Refused.class, outcomes.get(4)).refusal().reason().name());
    assertEquals(Outcome.RELEASED, outcomes.get(5));
  }

  @Test
  void aThousandAreManyEnough() throws Exception {
    var operations = new ArrayList<Operation>();
    for (int i = 0; i < 1_000; i++) {
      operations.add(acquire(RIG.request("many/" + i)));
    }
    List<Outcome> outcomes = batch(operations);
    for (int i = 0; i < operations.size(); i++) {
      assertEquals(((Operation.Secret) operations.get(i)).id(), granted(outcomes.get(i)).id());
    }
    operations.add(acquire(RIG.request("many/more")));
    HttpResponse<byte[]> refused =
        post("batch", LeaseDocuments.bytes(OperationCodec.writeBatch(operations)));
    assertEquals(400, refused.statusCode());
    assertEquals("MALFORMED", error(refused));
  }

  @Test
  void theAnswerIsBoundedAndWhatIsLeftMayBeAskedAgain() throws Exception {
    var operations = new ArrayList<Operation>();
    for (int g = 0; g < 6; g++) {
      String[] names = new String[1_000];
      for (int i = 0; i < names.length; i++) {
        names[i] = "bounded/" + g + "/" + i;
      }
      operations.add(acquire(RIG.request(names)));
    }
    List<Outcome> outcomes = batch(operations);
    for (int g = 0; g < 4; g++) {
      assertEquals(1_000, granted(outcomes.get(g)).witnesses().size());
    }
    assertEquals(4, outcomes.size());
    List<Operation> rest = operations.subList(4, 6);
    assertTrue(RIG.service.show(Rig.names("bounded/4/0").get(0)).isEmpty());
    assertEquals(1_000, granted(batch(rest).get(1)).witnesses().size());
    // The client asks again by itself.
    HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
    List<Outcome> all = client.carryOut(operations);
    assertEquals(6, all.size());
    for (int g = 0; g < 6; g++) {
      assertEquals(((Operation.Secret) operations.get(g)).id(), granted(all.get(g)).id());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[]",
        "{}",
        "{\"operations\":{}}",
        "{\"operations\":[1]}",
        "{\"operations\":[{}]}",
        "{\"operations\":[{\"renew\":{},\"release\":{}}]}",
        "{\"operations\":[{\"steal\":{}}]}",
        "{\"operations\":[{\"release\":[]}]}",
        "{\"operations\":[{\"release\":{}}]}",
        "{\"operations\":[],\"more\":1}"
      })
  void aMalformedBatchIsRefusedWhole(String body) throws Exception {
    HttpResponse<byte[]> json = post("batch", body.getBytes(UTF_8));
    assertEquals(400, json.statusCode());
    assertEquals("MALFORMED", error(json));
  }

  @Test
  void aMalformedEntrySpoilsThoseBesideItBeforeAnyIsCarriedOut() throws Exception {
    Operation.Acquire a = RIG.request("spoilt");
    String body =
        "{\"operations\":[{\"acquire\":"
            + new String(LeaseDocuments.bytes(OperationCodec.write(a)), UTF_8)
            + "},{\"release\":{}}]}";
    assertEquals(400, post("batch", body.getBytes(UTF_8)).statusCode());
    assertTrue(RIG.service.show(a.names().get(0)).isEmpty());
  }

  /** As the client sends what its threads ask for. */
  @Test
  void theClientsThreadsGetTheirOwnGrants() throws Exception {
    HttpLeaseClient client = HttpLeaseClient.builder(server.uri()).build();
    var tasks = new ArrayList<FutureTask<Integer>>();
    for (int t = 0; t < 16; t++) {
      int thread = t;
      var random = new Random(1_000 + t);
      var task =
          new FutureTask<>(
              () -> {
                for (int i = 0; i < 20; i++) {
                  Operation.Acquire r =
                      new Operation.Acquire(
                          Id.random(random),
                          Rig.names("thread/" + thread + "/" + i),
                          "t" + thread,
                          Rig.LEASE_MS,
                          LogSet.ALL,
                          false);
                  Grant grant = client.acquire(r);
                  assertEquals(r.names().get(0), grant.witnesses().get(0).witness().name());
                  Grant renewed =
                      client.renew(r.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
                  assertEquals(r.id(), renewed.id());
                  client.release(r.id(), LeaseReport.NOTHING);
                }
                return 20;
              });
      tasks.add(task);
      new Thread(task).start();
    }
    for (FutureTask<Integer> task : tasks) {
      assertEquals(20, task.get());
    }
  }

  private static String error(HttpResponse<byte[]> response) throws IOException {
    return new ObjectMapper().readTree(response.body()).get("error").textValue();
  }

  /** A service that begins one request of a turn at a time: the others come in the next turns. */
  @Test
  void whatATurnDidNotBeginIsAnsweredToo() throws Exception {
    var begins = new Semaphore(0);
    var goOn = new Semaphore(0);
    var most = new AtomicInteger();
    LeaseHost slow =
        Between.of(
            LeaseHost.class,
            call -> {
              if (!call.is("begin")) {
                return call.by(RIG.service);
              }
              var turn = (List<?>) call.args()[0];
              most.accumulateAndGet(turn.size(), Math::max);
              begins.release();
              goOn.acquireUninterruptibly();
              call.args()[0] = turn.subList(0, Math.min(1, turn.size()));
              return call.by(RIG.service);
            });
    var clients = new ArrayList<RawClient>();
    try (LeaseServer one = LeaseServer.builder(slow, RIG.service::info).port(0).start()) {
      for (int i = 0; i < 8; i++) {
        var client = new RawClient(one.port());
        clients.add(client);
        byte[] body = LeaseDocuments.bytes(OperationCodec.write(RIG.request("turn/" + i)));
        client.send(
            "POST /v1/leases/acquire HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "Content-Type: application/json\r\nContent-Length: "
                + body.length
                + "\r\n\r\n");
        client.send(body);
        if (i == 0) {
          begins.acquire(); // the others come while it is under way, and so in one turn
        }
      }
      goOn.release(1_000);
      for (RawClient client : clients) {
        assertEquals(200, client.response().status());
        client.close();
      }
    }
    assertTrue(most.get() > 1);
  }
}
