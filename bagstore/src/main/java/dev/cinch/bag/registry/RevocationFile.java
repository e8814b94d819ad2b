package dev.cinch.bag.registry;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Fields;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;

/** That a lease was revoked (rule L15): {@code service/revocations/<correlation>@<instance>}. */
final class RevocationFile {
  /** The longest that is read. */
  public static final int MAX_BYTES = 1 << 14;

  private static final String TYPE = "revocation";

  private RevocationFile() {}

  public static byte[] encode(Revocation revocation) {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("name", revocation.name().value()).put("holder", revocation.holder());
    document.put("correlation", revocation.correlation().toString());
    document.put("instance", revocation.instance()).put("revoked", revocation.revokedAt());
    document.put("reason", revocation.reason());
    return Envelope.encode(TYPE, document);
  }

  /**
   * Reads what {@link #encode} wrote.
   *
   * @param path for error messages
   * @throws DamagedException if it is none, was cut short or altered
   */
  public static Revocation decode(byte[] bytes, Name path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, bytes, path);
    String name = in.text("name");
    try {
      return new Revocation(
          new LeaseName(name),
          in.text("holder"),
          in.id("correlation"),
          in.number("instance"),
          in.number("revoked"),
          in.text("reason"));
    } catch (IllegalArgumentException e) {
      throw new DamagedException(path, 0, "the name of a lease", "another text");
    }
  }
}
