package dev.cinch.examples;

import dev.cinch.examples.DocumentEdits.Edit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Edits of any file, as accidents make them: no checksum is right again. */
final class ByteEdits {
  /** Bytes of a range that is zeroed. */
  private static final int RANGE = 16;

  private ByteEdits() {}

  /**
   * All edits of a file. One bit of each byte is another one; the file ends at each third byte, or
   * goes on; a range has zeros.
   *
   * @param others files of its kind, which are put in its place
   */
  static List<Edit> of(byte[] good, List<byte[]> others) {
    var edits = new ArrayList<Edit>();
    for (int i = 0; i < good.length; i++) {
      byte[] flipped = good.clone();
      flipped[i] ^= (byte) (1 << (i & 7));
      edits.add(new Edit("a bit of byte " + i, flipped));
      if (i % 3 == 0) {
        edits.add(new Edit("cut to " + i, Arrays.copyOf(good, i)));
      }
      if (i % RANGE == 0) {
        byte[] zeroed = good.clone();
        Arrays.fill(zeroed, i, Math.min(good.length, i + RANGE), (byte) 0);
        edits.add(new Edit("zeros from " + i, zeroed));
      }
    }
    edits.add(new Edit("a zero behind", Arrays.copyOf(good, good.length + 1)));
    edits.add(new Edit("a page of zeros behind", Arrays.copyOf(good, good.length + 4096)));
    byte[] twice = Arrays.copyOf(good, 2 * good.length);
    System.arraycopy(good, 0, twice, good.length, good.length);
    edits.add(new Edit("the same behind", twice));
    for (byte[] other : others) {
      edits.add(new Edit("another file of " + other.length + " bytes", other));
    }
    return edits;
  }
}
