package dev.cinch.lease.time.udp;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.BoundSource;
import dev.cinch.lease.time.roughtime.RoughtimeChain;
import java.io.IOException;

/** A Roughtime server. */
@CheckReturnValue
public final class RoughtimeSource implements BoundSource {
  private final RoughtimeClient client;
  private final RoughtimeClient.Server server;

  public RoughtimeSource(RoughtimeClient client, RoughtimeClient.Server server) {
    this.client = client;
    this.server = server;
  }

  @Override
  public String name() {
    return "roughtime:" + server.address();
  }

  @Override
  public Measurement measure() throws IOException {
    RoughtimeClient.Answer answer = client.ask(server, new RoughtimeChain());
    return new Measurement(answer.bound(), answer.monotonic(), answer.wall());
  }
}
