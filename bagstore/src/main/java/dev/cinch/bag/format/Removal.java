package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;

/**
 * That a log was removed (rule H8): {@code logs/<log>/removed}.
 *
 * @param log the log's id
 * @param name its name, which is not used again
 * @param removed when, by the filesystem's clock, nanoseconds since the Unix epoch
 * @param by whom, for people
 */
public record Removal(Id log, String name, long removed, String by) {
  private static final String TYPE = "removal";

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("log", log.toString()).put("name", name);
    document.put("removed", removed).put("by", by);
    return Envelope.encode(TYPE, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is none, was cut short or altered
   */
  public static Removal decode(byte[] bytes, Name path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, bytes, path);
    return new Removal(in.id("log"), in.text("name"), in.number("removed"), in.text("by"));
  }
}
