package dev.cinch.bag.audit;

import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.format.KeyFile.Endorsement;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What somebody who may write to a store, and has no key of it, does to its keys; every digest is
 * right afterwards. The store has {@code leases: required}, one log, two records and one key.
 */
public final class KeyForgeries {
  /** The forger's key. */
  public static final SigningKey FORGER = SigningKey.ofSeed(Arrays.copyOf(new byte[] {66}, 32));

  private final Path root;
  private final Path log;
  private final Id store;
  private final SigningKey key;

  /** Does something to a store. */
  public interface Forgery {
    void run() throws IOException;
  }

  /**
   * @param key the store's
   */
  public KeyForgeries(Path root, Path log, Id store, SigningKey key) {
    this.root = root;
    this.log = log;
    this.store = store;
    this.key = key;
  }

  private Path file(int number) {
    return root.resolve("keys").resolve("%010d".formatted(number));
  }

  private Path record(int number) {
    return log.resolve("horizon/records/0000000").resolve("%010d".formatted(number));
  }

  /** After these no reader may end well: messages would be left out, or forged ones believed. */
  public Map<String, Forgery> damaging() {
    var all = new LinkedHashMap<String, Forgery>();
    PublicKey good = key.publicKey();
    byte[] bytes = good.bytes();
    bytes[7] ^= 1;
    var altered = new PublicKey(bytes);
    all.put(
        "a digit of the first key",
        () -> {
          KeyFile it = KeyFile.decode(Files.readAllBytes(file(1)), Name.of(file(1)));
          StoreEdits.replace(file(1), new KeyFile(altered, it.endorsement()).encode());
        });
    all.put(
        "another first key",
        () -> StoreEdits.replace(file(1), KeyFile.first(store, FORGER).encode()));
    all.put("the first key alone", () -> StoreEdits.replace(file(1), unsigned(good)));
    all.put("another key alone", () -> StoreEdits.replace(file(1), unsigned(FORGER.publicKey())));
    all.put("no first key", () -> Files.delete(file(1)));
    all.put("keys of the last record", () -> rewrite(2, 1, "ab".repeat(32)));
    all.put("keys of both records", () -> rewrite(1, 1, "ab".repeat(32)));
    all.put(
        "an unsigned key that a record counts",
        () -> {
          Files.write(file(2), unsigned(FORGER.publicKey()));
          count(2);
        });
    all.put(
        "a key signed by the forger that a record counts",
        () -> {
          Files.write(file(2), KeyFile.signed(store, 2, FORGER.publicKey(), 1, FORGER).encode());
          count(2);
        });
    return all;
  }

  /** These keys do not count: every answer stays as it was. */
  public Map<String, Forgery> idle() {
    var all = new LinkedHashMap<String, Forgery>();
    PublicKey forged = FORGER.publicKey();
    all.put("unsigned", () -> Files.write(file(2), unsigned(forged)));
    for (int by : new int[] {0, 1, 2, 3}) {
      all.put(
          "signed by the forger, as key " + by,
          () -> Files.write(file(2), KeyFile.signed(store, 2, forged, by, FORGER).encode()));
    }
    all.put(
        "signed for another store",
        () -> Files.write(file(2), KeyFile.signed(new Id(3, 4), 2, forged, 1, key).encode()));
    all.put(
        "signed for another number",
        () -> Files.write(file(2), KeyFile.signed(store, 3, forged, 1, key).encode()));
    all.put(
        "with a signature for another store",
        () -> Files.write(file(2), lent(KeyFile.signed(new Id(3, 4), 2, forged, 1, key))));
    all.put(
        "with a signature for another number",
        () -> Files.write(file(2), lent(KeyFile.signed(store, 3, forged, 1, key))));
    all.put(
        "with a signature for another key",
        () -> Files.write(file(2), lent(KeyFile.signed(store, 2, key.publicKey(), 1, key))));
    return all;
  }

  /** A key in hexadecimal, and nothing that vouches for it. */
  private static byte[] unsigned(PublicKey key) {
    return (key + "\n").getBytes(StandardCharsets.US_ASCII);
  }

  /** Says that it is key 2 of this store, with a signature that says otherwise. */
  private byte[] lent(KeyFile file) {
    var e = new Endorsement(store, 2, 1, file.endorsement().signature());
    return new KeyFile(FORGER.publicKey(), e).encode();
  }

  private void count(int keys) throws IOException {
    TrustedKeys both = TrustedKeys.of(key.publicKey(), FORGER.publicKey());
    rewrite(2, keys, both.digest());
  }

  /** Rewrites a record and what the ones after it say of it. */
  private void rewrite(int from, int keys, String digest) throws IOException {
    String previous = "";
    StoreEdits.removeSeals(log.resolve("horizon/records/0000000"));
    for (int n = 1; n <= 2; n++) {
      byte[] bytes = Files.readAllBytes(record(n));
      if (n >= from) {
        HorizonRecord r = HorizonRecord.decode(bytes, Name.of(record(n)));
        bytes = r.follows(previous).withKeys(keys, digest).encode();
        StoreEdits.replace(record(n), bytes);
      }
      previous = Envelope.sha256(bytes);
    }
  }
}
