package dev.cinch.lease.witness;

import static dev.cinch.lease.witness.WitnessException.malformed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Where the parts of a signed witness stand: its payload, the key's id, the signature, and for one
 * that shares its signature the way to the root. The layout is in the package's description. Not
 * for others to change its bytes, which are not copied.
 */
final class SignedForm {
  private static final byte[] DOMAIN = "cinch witness tree 1\n".getBytes(StandardCharsets.US_ASCII);

  private static final int ALONE = PublicKey.ID_BYTES + PublicKey.SIGNATURE_BYTES;
  private static final int TREE = ALONE + Integer.BYTES;

  private final byte[] bytes;
  private final int payload;

  /** Hashes between the payload and the root; 0 if the signature is of the payload alone. */
  private final int depth;

  private SignedForm(byte[] bytes, int payload, int depth) {
    this.bytes = bytes;
    this.payload = payload;
    this.depth = depth;
  }

  /**
   * Finds the parts.
   *
   * @throws WitnessException {@code MALFORMED} if they don't add up
   */
  static SignedForm of(byte[] bytes) throws WitnessException {
    int payload = WitnessCodec.payloadLength(bytes);
    int rest = bytes.length - payload;
    if (rest == ALONE) {
      return new SignedForm(bytes, payload, 0);
    }
    int depth = (rest - TREE) / HashTree.HASH_BYTES;
    if (depth < 1 || depth > HashTree.MAX_DEPTH || rest != TREE + depth * HashTree.HASH_BYTES) {
      throw malformed(bytes.length + " bytes signed, with a payload of " + payload);
    }
    var form = new SignedForm(bytes, payload, depth);
    if (form.leaf() >>> depth != 0) {
      throw malformed("number " + form.leaf() + " in a tree of " + depth + " levels");
    }
    return form;
  }

  /** A payload with a signature of its own. */
  static byte[] alone(byte[] payload, PublicKey key, byte[] signature) {
    return signed(payload, key, signature, ALONE);
  }

  /** A payload with the signature of a tree's root, and the way there. */
  static byte[] leaf(byte[] payload, PublicKey key, byte[] signature, HashTree tree, int leaf) {
    byte[] signed = signed(payload, key, signature, TREE + tree.depth() * HashTree.HASH_BYTES);
    little(signed).putInt(payload.length + ALONE, leaf);
    tree.path(leaf, signed, payload.length + TREE);
    return signed;
  }

  /** A payload, who signed and the signature, with room for so many bytes behind the payload. */
  private static byte[] signed(byte[] payload, PublicKey key, byte[] signature, int rest) {
    byte[] signed = Arrays.copyOf(payload, payload.length + rest);
    key.putId(signed, payload.length);
    System.arraycopy(
        signature, 0, signed, payload.length + PublicKey.ID_BYTES, PublicKey.SIGNATURE_BYTES);
    return signed;
  }

  /** What the signature of a tree signs. No payload begins so: its first bytes are its length. */
  static byte[] statement(byte[] root) {
    byte[] statement = Arrays.copyOf(DOMAIN, DOMAIN.length + root.length);
    System.arraycopy(root, 0, statement, DOMAIN.length, root.length);
    return statement;
  }

  /** What has to be signed: the payload, or that its tree's root is what the path leads to. */
  byte[] signedStatement() {
    return depth == 0 ? Arrays.copyOf(bytes, payload) : statement(root());
  }

  /** Of the tree, as the path leads to it. */
  byte[] root() {
    return HashTree.root(bytes, payload, leaf(), sibling(0), depth);
  }

  /** Where a hash of the path stands, the lowest being of level 0. */
  int sibling(int level) {
    return payload + TREE + level * HashTree.HASH_BYTES;
  }

  /** Hashes of the path; 0 of a payload with a signature of its own. */
  int depth() {
    return depth;
  }

  /** Whether it names the same key, and has the same signature. */
  boolean hasSignatureOf(SignedForm other) {
    return Arrays.equals(
        bytes, payload, payload + ALONE, other.bytes, other.payload, other.payload + ALONE);
  }

  byte[] bytes() {
    return bytes;
  }

  /** Length of the payload. */
  int payload() {
    return payload;
  }

  byte[] signature() {
    return Arrays.copyOfRange(bytes, payload + PublicKey.ID_BYTES, payload + ALONE);
  }

  boolean namesKey(PublicKey key) {
    return key.hasIdAt(bytes, payload);
  }

  /** Number of the payload in its tree. */
  int leaf() {
    return little(bytes).getInt(payload + ALONE);
  }

  private static ByteBuffer little(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
