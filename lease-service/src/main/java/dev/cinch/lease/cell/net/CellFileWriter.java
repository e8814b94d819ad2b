package dev.cinch.lease.cell.net;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.JsonTree;
import java.util.Arrays;

/** Writes a {@link CellFile}. */
final class CellFileWriter {
  private static final JsonTree JSON = JsonTree.of(new JsonFactoryBuilder(), true);

  private CellFileWriter() {}

  static byte[] encode(CellFile cell) {
    ObjectNode out = JsonNodeFactory.instance.objectNode();
    out.put("format", CellFile.FORMAT)
        .put("instance", cell.instance())
        .put("sinceMs", cell.sinceMs());
    cell.store().ifPresent(store -> out.put("store", store.toString()));
    out.put("algorithm", cell.algorithm().name());
    out.put("longestLeaseMs", millis(cell.algorithm().longest()));
    if (cell.algorithm() instanceof Algorithm.PaxosLease paxos) {
      out.put("rateErrorPpm", paxos.durations().rateErrorPpm());
      out.put("keepMs", millis(paxos.durations().keep()));
    } else if (cell.algorithm() instanceof Algorithm.Flease flease) {
      out.put("clockErrorMs", millis(flease.durations().epsilon()));
      out.put("keepMs", millis(flease.durations().keep()));
    }
    out.put("datagramBytes", cell.datagramBytes()).put("keyFile", cell.keyFile().toString());
    ArrayNode nodes = out.putArray("nodes");
    for (CellFile.Node node : cell.nodes()) {
      nodes
          .addObject()
          .put("id", node.id())
          .put("host", node.host())
          .put("port", node.port())
          .put("http", node.http());
    }
    byte[] json = JSON.write(out);
    byte[] line = Arrays.copyOf(json, json.length + 1);
    line[json.length] = '\n';
    return line;
  }

  private static long millis(long nanos) {
    return nanos / CellFile.NANOS_PER_MILLI;
  }
}
