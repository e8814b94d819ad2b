package dev.cinch.examples;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.cinch.bag.format.Envelope;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A store in which a file is another one, and each that names it by its digest names that: records,
 * seals, checkpoints and segments, and what names these. So only what a file says itself tells.
 */
final class Rippled {
  private static final Pattern BYTES = Pattern.compile("(?<=\"settledBytes\" ?: ?)\\d+");

  private final Map<Path, byte[]> good;
  private final Map<Path, Optional<byte[]>> changed = new LinkedHashMap<>();

  private Rippled(Map<Path, byte[]> good) {
    this.good = good;
  }

  /**
   * What is another file then.
   *
   * @param good the files of the store
   * @return the bytes of each; empty where there is none any more
   */
  static Map<Path, Optional<byte[]>> of(Map<Path, byte[]> good, Path file, byte[] bytes)
      throws IOException {
    var all = new Rippled(good);
    byte[] before = good.getOrDefault(file, new byte[0]);
    boolean counted = file.endsWith("lock");
    all.put(file, bytes, counted ? bytes.length - before.length : 0);
    return all.changed;
  }

  /**
   * @param more bytes that records count from then on
   */
  private void put(Path file, byte[] bytes, int more) throws IOException {
    byte[] old =
        changed
            .getOrDefault(file, Optional.of(good.getOrDefault(file, new byte[0])))
            .orElse(new byte[0]);
    changed.put(file, Optional.of(bytes));
    String before = digest(old);
    String after = digest(bytes);
    for (Path other : List.copyOf(good.keySet())) {
      byte[] there = changed.getOrDefault(other, Optional.of(good.get(other))).orElse(null);
      if (there == null || before.equals(after)) {
        continue;
      }
      String name = other.getFileName() + "";
      if (name.endsWith("." + before)) {
        changed.put(other, Optional.empty());
        changed.put(other.resolveSibling(name.replace(before, after)), Optional.of(there));
      } else if (DocumentEdits.isDocument(there)
          && new String(there, ISO_8859_1).contains(before)) {
        byte[] renamed =
            DocumentEdits.replaced(there, body -> counted(body.replace(before, after), more));
        put(other, renamed, more);
      } else if (SegmentEdits.isSettledFile(there)
          && Arrays.equals(there, 88, 120, HexFormat.of().parseHex(before), 0, 32)) {
        put(other, SegmentEdits.endingWith(there, HexFormat.of().parseHex(after)), 0);
      }
    }
  }

  private static String counted(String body, int more) {
    return BYTES.matcher(body).replaceAll(n -> "" + (Long.parseLong(n.group()) + more));
  }

  private static String digest(byte[] file) {
    return Envelope.sha256(SegmentEdits.isSettledFile(file) ? SegmentEdits.named(file) : file);
  }
}
