package dev.cinch.bag.audit;

import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.layout.SealName;
import dev.cinch.bag.store.StoreIdentity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Makes of a store what earlier versions of Cinch would have made: format 1, plain keys, records of
 * version 1. Only of one that has no checkpoint.
 */
public final class OldStore {
  private OldStore() {}

  /** Does so. */
  public static void make(Path root) throws IOException {
    format1(root);
    for (Path f : files(root.resolve("keys"))) {
      replace(f, KeyFile.plain(KeyFile.decode(Files.readAllBytes(f), f).key()).encode());
    }
    records(root);
  }

  /** Only {@code store.json}. */
  public static void format1(Path root) throws IOException {
    Path settings = root.resolve("store.json");
    StoreIdentity it = StoreIdentity.decode(Files.readAllBytes(settings), settings);
    replace(settings, new StoreIdentity(1, it.id(), it.created(), it.settings(), "").encode());
  }

  /** Only the records, all of them. */
  public static void records(Path root) throws IOException {
    for (Path log : files(root.resolve("logs"))) {
      String previous = "";
      for (Path group : files(log.resolve("horizon").resolve("records"))) {
        removeSeals(group);
        for (Path f : files(group)) {
          HorizonRecord r = HorizonRecord.decode(Files.readAllBytes(f), f);
          byte[] old = following(r, previous).withKeys(r.trustedKeys(), "").encode();
          replace(f, old);
          previous = Envelope.sha256(old);
        }
      }
    }
  }

  /** A record after another one. */
  public static HorizonRecord following(HorizonRecord r, String previous) {
    return new HorizonRecord(
        r.log(),
        r.number(),
        r.from(),
        r.to(),
        previous,
        r.trustedKeys(),
        r.keysDigest(),
        r.buckets(),
        r.closer(),
        r.settledAt());
  }

  /** Puts another file in place of one that may be read-only. */
  public static void replace(Path file, byte[] bytes) throws IOException {
    Files.delete(file);
    Files.write(file, bytes);
  }

  /** Removes those of records: whoever rewrites a record can do that. */
  public static void removeSeals(Path group) throws IOException {
    for (Path f : files(group)) {
      if (SealName.parse(f.getFileName() + "").isPresent()) {
        Files.delete(f);
      }
    }
  }

  private static List<Path> files(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.sorted().toList();
    }
  }
}
