package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.ShardMap;
import java.nio.file.Path;

/** A shard map (rule L16): {@code service/instances/map-<number>}. */
public final class ShardMapFile {
  /** The longest that is read. */
  public static final int MAX_BYTES = 1 << 12;

  private static final String TYPE = "shard-map";

  private ShardMapFile() {}

  public static byte[] encode(ShardMap map) {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("number", map.number()).put("shards", map.count());
    return Envelope.encode(TYPE, document);
  }

  /**
   * Reads what {@link #encode} wrote.
   *
   * @param path for error messages
   * @throws DamagedException if it is none, was cut short or altered
   */
  public static ShardMap decode(byte[] bytes, Path path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, bytes, path);
    long number = in.number("number");
    long shards = in.number("shards");
    if (number < 1 || shards < 1 || shards > ShardMap.MAX_SHARDS) {
      throw new DamagedException(
          path, 0, "a map of 1 to " + ShardMap.MAX_SHARDS + " shards", "" + shards);
    }
    return new ShardMap(number, (int) shards);
  }
}
