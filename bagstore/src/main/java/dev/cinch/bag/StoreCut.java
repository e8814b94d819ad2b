package dev.cinch.bag;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Fields;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;
import java.util.ArrayList;
import java.util.List;

/**
 * A numbered instant over logs: {@code cuts/<number>}. What each of them has before its time never
 * changes, but for what expires.
 *
 * @param store the store's id
 * @param number as the file's name
 * @param id drawn at random, so that of two who take the same instant at once each knows its own
 * @param time through which all of the logs were settled, nanoseconds since the Unix epoch
 * @param taken when, by the filesystem's clock, nanoseconds since the Unix epoch; for people
 * @param by whom, for people
 * @param logs ascending by their names; none where the number alone is taken
 */
public record StoreCut(
    Id store, long number, Id id, long time, long taken, String by, List<Part> logs) {
  /** The most bytes of one. */
  public static final int MAX_BYTES = 1 << 24;

  /** The most logs of one: 63 bytes of name make 300 bytes of document at most. */
  public static final int MAX_LOGS = 50_000;

  private static final String TYPE = "cut";

  public StoreCut {
    logs = List.copyOf(logs);
  }

  /**
   * A log of a cut.
   *
   * @param log its id
   * @param record number of a record that reaches the time: the first one that was not retired
   * @param digest of that record, SHA-256 in hexadecimal
   * @param floor the time before which messages had expired; {@link Long#MIN_VALUE} if none had
   * @param table the version of its table; -1 if it had none
   */
  public record Part(LogName name, Id log, long record, String digest, long floor, long table) {}

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("store", store.toString()).put("number", number);
    document.put("id", id.toString()).put("time", time);
    document.put("taken", taken).put("by", by);
    ArrayNode all = document.putArray("of");
    for (Part part : logs) {
      ObjectNode one = all.addObject().put("name", part.name.value());
      one.put("log", part.log.toString()).put("record", part.record);
      one.put("digest", part.digest).put("floor", part.floor).put("tableVersion", part.table);
    }
    return Envelope.encode(TYPE, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is none of this store and number, was cut short or altered
   */
  public static StoreCut decode(byte[] bytes, Id store, long number, Name path)
      throws DamagedException {
    Fields in = Envelope.decode(TYPE, bytes, path);
    var logs = new ArrayList<Part>();
    for (Fields one : in.objects("of")) {
      Part part = part(one, path);
      if (!logs.isEmpty() && logs.get(logs.size() - 1).name.compareTo(part.name) >= 0) {
        throw new DamagedException(path, 0, "ascending names of logs", part.name + " behind them");
      }
      logs.add(part);
    }
    var cut =
        new StoreCut(
            in.id("store"),
            in.number("number", 1, Numbered.MAX),
            in.id("id"),
            in.number("time", Long.MIN_VALUE + 1, Long.MAX_VALUE),
            in.number("taken"),
            in.text("by"),
            logs);
    if (!cut.store.equals(store) || cut.number != number) {
      throw new DamagedException(
          path, 0, "cut " + number + " of store " + store, cut.number + " of " + cut.store);
    }
    return cut;
  }

  private static Part part(Fields in, Name path) throws DamagedException {
    String name = in.text("name");
    try {
      return new Part(
          new LogName(name),
          in.id("log"),
          in.number("record", 1, Numbered.MAX),
          in.sha256("digest"),
          in.number("floor"),
          in.number("tableVersion", -1, Long.MAX_VALUE));
    } catch (IllegalArgumentException e) {
      throw new DamagedException(path, 0, "names of logs", name);
    }
  }
}
