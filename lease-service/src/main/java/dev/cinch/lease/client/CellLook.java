package dev.cinch.lease.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.Endpoints.Transport.Answered;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Fields;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.WireException;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;

/** Asks the node of a cell how it is, once: for people, who want to hear of each node by itself. */
@CheckReturnValue
public final class CellLook {
  private static final String PATH = "/v1/cell";

  private CellLook() {}

  /**
   * Asks a node.
   *
   * @param base such as {@code http://127.0.0.1:8470}
   * @param credentials shown to it
   * @param patience how long to wait for a connection, and for the whole answer
   * @return what {@code GET /v1/cell} says (docs/lease-api.md); empty if the server there is no
   *     node of a cell
   * @throws LeaseUnavailableException one line that says why there is no answer
   */
  public static Optional<ObjectNode> ask(URI base, Credentials credentials, Duration patience)
      throws LeaseUnavailableException {
    var transport = new HttpTransport(new Patience(patience, patience), credentials);
    URI uri = URI.create(base + PATH);
    try {
      return read(transport.exchange("GET", uri, null, Duration.ZERO));
    } catch (WireException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw new LeaseUnavailableException(Endpoints.reason(e), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LeaseUnavailableException("interrupted", e);
    }
  }

  private static void require(JsonFields in, String... names) throws WireException {
    for (String name : names) {
      long unused = in.integer(name);
    }
  }

  private static Optional<ObjectNode> read(Answered reply)
      throws WireException, LeaseUnavailableException {
    if (reply.status() == 200) {
      JsonFields node = JsonFields.parse(reply.body());
      require(node, "node", "instance", "boot", "rows", "names", "attempts", "faults");
      require(node.object("traffic"), "datagramsSent", "datagramsReceived", "dropped", "wrongKey");
      boolean unused = node.flag("quarantined") && node.time("quarantinedUntil") > node.time("now");
      for (JsonFields peer : node.objects("peers")) {
        require(peer, "node");
      }
      return Optional.of(node.document());
    }
    LeaseDocuments.Failure failure =
        Fields.read(LeaseDocuments::failure, JsonFields.parse(reply.body()));
    if (failure.error().equals(Answer.NO_SUCH_PATH)) {
      return Optional.empty();
    }
    throw new LeaseUnavailableException(failure.message(), null);
  }
}
