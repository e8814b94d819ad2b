package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The first key of a store that is being made. It is published before {@code store.json}, which
 * pins it: where that is, the key is too.
 *
 * @param store id that the key was signed for; the store's. Empty without a key
 * @param pin SHA-256 of the key, in hexadecimal; empty without a key
 */
@CheckReturnValue
public record FirstKey(Optional<Id> store, String pin) {
  /**
   * Publishes a key unless an earlier attempt did, which then decided the store's id.
   *
   * @param key null: none, as long as there is no file of one
   * @throws KeyRefusedException if there is a file that is not of this key
   */
  public static FirstKey publish(
      Path directory, Fresh fresh, @Nullable SigningKey key, int mode, RandomGenerator random)
      throws IOException {
    Path file = directory.resolve(Numbered.name(1));
    if (key == null && fresh.list(directory).contains(Numbered.name(1))) {
      throw another(file);
    }
    if (key == null) {
      return new FirstKey(Optional.empty(), "");
    }
    fresh.publish(file, KeyFile.first(Id.random(random), key).encode(), mode);
    KeyFile there = fresh.decode(file, KeyFile.MAX_BYTES, bytes -> KeyFile.decode(bytes, file));
    Id store = there.endorsement().store();
    if (!there.equals(KeyFile.first(store, key))) {
      throw another(file);
    }
    return new FirstKey(Optional.of(store), TrustedKeys.of(key.publicKey()).digest());
  }

  private static KeyRefusedException another(Path file) {
    return new KeyRefusedException(
        file
            + " holds a key that an earlier init left, which was cut short: name that key's file with --key, or remove it");
  }

  /** Where somebody else made the store meanwhile: a key for no store is in the way there. */
  public void withdraw(Path directory, Fresh fresh, Id made) throws IOException {
    Path file = directory.resolve(Numbered.name(1));
    if (store.isEmpty() || store.get().equals(made)) {
      return;
    }
    try {
      KeyFile there = fresh.decode(file, KeyFile.MAX_BYTES, bytes -> KeyFile.decode(bytes, file));
      if (there.endorsement().store().equals(store.get())) {
        fresh.removeQuietly(file);
      }
    } catch (NoSuchFileException e) {
      // Nothing is in the way.
    }
  }
}
