package dev.cinch.bag.audit;

import dev.cinch.bag.model.SealName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What whoever may write to a store can do to its files. Stateless. */
public final class StoreEdits {
  private StoreEdits() {}

  /** Puts another file in place of one that may be read-only. */
  public static void replace(Path file, byte[] bytes) throws IOException {
    Files.delete(file);
    Files.write(file, bytes);
  }

  /** Removes those of records: whoever rewrites a record can do that. */
  public static void removeSeals(Path group) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(group)) {
      files = all.toList();
    }
    for (Path f : files) {
      if (SealName.parse(f.getFileName() + "").isPresent()) {
        Files.delete(f);
      }
    }
  }
}
