package dev.cinch.lease.witness;

import static dev.cinch.lease.witness.WitnessException.malformed;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/**
 * Where the parts of a witness stand that several nodes of a cell signed. The layout is in the
 * package's description. Not for others to change its bytes, which are not copied.
 */
final class MajorityForm {
  private static final int HEAD = PublicKey.ID_BYTES + 1;
  private static final int SHORTEST = 1 + PublicKey.SIGNATURE_BYTES;

  /** Bytes of a node's signature with the longest path. */
  static final int LONGEST = SHORTEST + Integer.BYTES + HashTree.MAX_DEPTH * HashTree.HASH_BYTES;

  /**
   * A node's signature.
   *
   * @param node its place among the cell's keys, from 1
   * @param bytes depth, signature, and for a tree the leaf's number and its path
   */
  record Part(int node, byte[] bytes) {
    byte[] signature() {
      return Arrays.copyOfRange(bytes, 1, SHORTEST);
    }

    private int depth() {
      return bytes[0];
    }

    private int leaf() {
      return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(SHORTEST);
    }

    /** What the node signed, if it signed this payload. */
    byte[] statement(byte[] payload) {
      if (depth() == 0) {
        return payload;
      }
      byte[] both = Arrays.copyOf(payload, payload.length + bytes.length);
      System.arraycopy(bytes, 0, both, payload.length, bytes.length);
      int path = payload.length + SHORTEST + Integer.BYTES;
      return SignedForm.statement(HashTree.root(both, payload.length, leaf(), path, depth()));
    }
  }

  private final byte[] bytes;
  private final int payload;
  private final List<Part> parts;

  private MajorityForm(byte[] bytes, int payload, List<Part> parts) {
    this.bytes = bytes;
    this.payload = payload;
    this.parts = parts;
  }

  /**
   * Whether this is the form that bytes have: behind the payload, it is the one of an odd length.
   *
   * @throws WitnessException {@code MALFORMED} if they begin with no payload
   */
  static boolean isOf(byte[] bytes) throws WitnessException {
    return (bytes.length - WitnessCodec.payloadLength(bytes)) % 2 != 0;
  }

  /**
   * Finds the parts.
   *
   * @throws WitnessException {@code MALFORMED} if they don't add up
   */
  static MajorityForm of(byte[] bytes) throws WitnessException {
    int payload = WitnessCodec.payloadLength(bytes);
    int at = payload + HEAD;
    int count = at <= bytes.length ? bytes[at - 1] : 0;
    var parts = new ArrayList<Part>();
    for (int last = 0; parts.size() < count && at < bytes.length; ) {
      int node = bytes[at];
      int length = length(bytes, at + 1);
      if (node <= last || length < 0) {
        break;
      }
      parts.add(new Part(node, Arrays.copyOfRange(bytes, at + 1, at + 1 + length)));
      at += 1 + length;
      last = node;
    }
    if (parts.isEmpty() || parts.size() != count || at != bytes.length) {
      throw malformed(bytes.length + " bytes signed by several, with a payload of " + payload);
    }
    return new MajorityForm(bytes, payload, parts);
  }

  /** Length of a node's signature that begins at an offset; -1 if none does. */
  private static int length(byte[] bytes, int at) {
    int depth = at < bytes.length ? bytes[at] : -1;
    int length = SHORTEST + (depth == 0 ? 0 : Integer.BYTES + depth * HashTree.HASH_BYTES);
    if (depth < 0 || depth > HashTree.MAX_DEPTH || at + length > bytes.length) {
      return -1;
    }
    var first = new Part(1, Arrays.copyOfRange(bytes, at, at + length));
    return depth > 0 && first.leaf() >>> depth != 0 ? -1 : length;
  }

  /** Whether these are the bytes of one node's signature. */
  static boolean isPart(byte[] bytes) {
    return bytes.length > 0 && length(bytes, 0) == bytes.length;
  }

  /** A node's signature of a payload alone. */
  static byte[] alone(byte[] signature) {
    byte[] part = new byte[SHORTEST];
    System.arraycopy(signature, 0, part, 1, PublicKey.SIGNATURE_BYTES);
    return part;
  }

  /** A node's signature of a tree, for one of its payloads. */
  static byte[] leaf(byte[] signature, HashTree tree, int leaf) {
    byte[] part =
        Arrays.copyOf(
            alone(signature), SHORTEST + Integer.BYTES + tree.depth() * HashTree.HASH_BYTES);
    part[0] = (byte) tree.depth();
    ByteBuffer.wrap(part).order(ByteOrder.LITTLE_ENDIAN).putInt(SHORTEST, leaf);
    tree.path(leaf, part, SHORTEST + Integer.BYTES);
    return part;
  }

  /**
   * A payload with what nodes signed.
   *
   * @param key of the cell
   * @param signatures by the nodes' places among the cell's keys, from 1
   */
  static byte[] join(byte[] payload, PublicKey key, SortedMap<Integer, byte[]> signatures) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(payload);
    out.writeBytes(key.id());
    out.write(signatures.size());
    for (Map.Entry<Integer, byte[]> each : signatures.entrySet()) {
      out.write(each.getKey());
      out.writeBytes(each.getValue());
    }
    return out.toByteArray();
  }

  boolean namesKey(PublicKey key) {
    return key.hasIdAt(bytes, payload);
  }

  byte[] bytes() {
    return bytes;
  }

  /** Length of the payload. */
  int payload() {
    return payload;
  }

  /** In the order of the nodes, each once. */
  List<Part> parts() {
    return parts;
  }
}
