package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.KeyEndorsement;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Optional;

/**
 * The file of one trusted key. Says what stands there; whether the key counts is judged elsewhere
 * (rule F3).
 *
 * @param key the public key
 * @param endorsement who vouches for it; empty in a plain file, as earlier versions of Cinch wrote
 *     them
 */
public record KeyFile(PublicKey key, Optional<Endorsement> endorsement) {
  private static final String TYPE = "key";

  /** The version with a cell's nodes; a key that signs alone has the first. */
  private static final int OF_A_CELL = 2;

  /** No file is shorter: a plain one, without the end of its line. */
  public static final int MIN_BYTES = 64;

  /** The longest that is read. */
  public static final int MAX_BYTES = 1 << 12;

  /**
   * @throws IllegalArgumentException if it is a cell's and nobody vouches for it
   */
  public KeyFile {
    if (key.cell().isPresent() && endorsement.isEmpty()) {
      throw new IllegalArgumentException("a plain file has no place for a cell's nodes");
    }
  }

  /**
   * Who vouches for a key.
   *
   * @param store id of the store that it is for
   * @param number of the key there
   * @param signedBy number of the key that signed; 0 for the first key, which signs for itself
   * @param signature in hexadecimal
   */
  public record Endorsement(Id store, long number, long signedBy, String signature) {
    /** Whether it is by a key, and for this one. */
    public boolean isBy(PublicKey by, PublicKey key) {
      byte[] bytes = HexFormat.of().parseHex(signature);
      return KeyEndorsement.isBy(by, store, number, key, bytes);
    }
  }

  /** A plain file. */
  public static KeyFile plain(PublicKey key) {
    return new KeyFile(key, Optional.empty());
  }

  /**
   * A signed file.
   *
   * @param signedBy number of the key that signs; 0 for the first, which is {@code by} itself
   */
  public static KeyFile signed(Id store, long number, PublicKey key, long signedBy, SigningKey by) {
    String signature = HexFormat.of().formatHex(KeyEndorsement.sign(by, store, number, key));
    return new KeyFile(key, Optional.of(new Endorsement(store, number, signedBy, signature)));
  }

  /** The first key of a store. */
  public static KeyFile first(Id store, SigningKey key) {
    return signed(store, 1, key.publicKey(), 0, key);
  }

  public byte[] encode() {
    if (endorsement.isEmpty()) {
      return (key + "\n").getBytes(StandardCharsets.US_ASCII);
    }
    Endorsement e = endorsement.get();
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("store", e.store().toString()).put("number", e.number());
    document.put("publicKey", key.toString());
    if (key.cell().isPresent()) {
      CellKeys cell = key.cell().get();
      document.put("instance", cell.instance());
      ArrayNode nodes = document.putArray("nodes");
      cell.nodes().forEach(node -> nodes.addObject().put("publicKey", node.toString()));
    }
    document.put("signedBy", e.signedBy()).put("signature", e.signature());
    int version = key.cell().isPresent() ? OF_A_CELL : Envelope.FIRST_VERSION;
    return Envelope.encode(TYPE, version, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is neither form of such a file
   */
  public static KeyFile decode(byte[] bytes, Path path) throws DamagedException {
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    if (!text.startsWith("cinch ")) {
      try {
        return plain(PublicKey.parse(text));
      } catch (IllegalArgumentException e) {
        throw new DamagedException(
            path, 0, "a public key in hexadecimal, or an envelope of one", e.getMessage() + "");
      }
    }
    Envelope.Document read = Envelope.decode(TYPE, Envelope.FIRST_VERSION, OF_A_CELL, bytes, path);
    Fields in = read.fields();
    PublicKey key = publicKey(in);
    if (read.version() == OF_A_CELL) {
      key = cellKey(in, key, path);
    }
    var endorsement =
        new Endorsement(
            in.id("store"),
            in.number("number", 1, Long.MAX_VALUE),
            in.number("signedBy", 0, Long.MAX_VALUE),
            in.hex("signature", 2 * KeyEndorsement.BYTES));
    return new KeyFile(key, Optional.of(endorsement));
  }

  private static PublicKey publicKey(Fields in) throws DamagedException {
    return PublicKey.parse(in.hex("publicKey", 2 * PublicKey.BYTES));
  }

  private static PublicKey cellKey(Fields in, PublicKey expected, Path path)
      throws DamagedException {
    var nodes = new ArrayList<PublicKey>();
    for (Fields node : in.objects("nodes")) {
      nodes.add(publicKey(node));
    }
    PublicKey found;
    try {
      found = new CellKeys(in.number("instance"), nodes).key();
    } catch (IllegalArgumentException e) {
      throw new DamagedException(path, 0, "the keys of a cell", String.valueOf(e.getMessage()));
    }
    if (!found.equals(expected)) {
      throw new DamagedException(path, 0, "the key of these nodes, " + found, "" + expected);
    }
    return found;
  }
}
