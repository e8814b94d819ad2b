package dev.cinch.bag.write;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Fields;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.lease.Id;
import java.nio.file.Path;

/**
 * What one process leaves in a slot for the next: a data file that nobody appends to, whose every
 * batch was confirmed.
 *
 * @param boot the run of the kernel that it belongs to
 * @param store its store's id
 * @param log its log's id
 * @param bucket start of its bucket
 * @param name of the file
 * @param length confirmed, in bytes
 * @param witnesses how many stand in the file; later ones are numbered on from there
 * @param token name of the file in the bucket that whoever goes on must remove
 */
record RestingFile(
    String boot,
    Id store,
    Id log,
    long bucket,
    DataFileName name,
    long length,
    int witnesses,
    String token) {
  private static final String TYPE = "resting";

  byte[] encode() {
    return Envelope.encode(
        TYPE,
        JsonNodeFactory.instance
            .objectNode()
            .put("boot", boot)
            .put("store", store.toString())
            .put("log", log.toString())
            .put("bucket", bucket)
            .put("file", name.toString())
            .put("length", length)
            .put("witnesses", witnesses)
            .put("token", token));
  }

  /**
   * @param slot for the error message only
   * @throws DamagedException if a process was killed while it wrote
   */
  static RestingFile decode(byte[] state, Path slot) throws DamagedException {
    Fields in = Envelope.decode(TYPE, state, slot);
    String name = in.text("file");
    String token = in.text("token");
    if (!LogLayout.isTemporary(token)
        || token.indexOf('/') >= 0
        || token.indexOf('\0') >= 0) { // it is removed: only ever a file of the bucket
      throw new DamagedException(slot, 0, "the name of a temporary file", token);
    }
    return new RestingFile(
        in.text("boot"),
        in.id("store"),
        in.id("log"),
        in.number("bucket"),
        DataFileName.parse(name)
            .orElseThrow(() -> new DamagedException(slot, 0, "a data file's name", name)),
        in.number("length"),
        (int) in.number("witnesses", 0, Integer.MAX_VALUE),
        token);
  }
}
