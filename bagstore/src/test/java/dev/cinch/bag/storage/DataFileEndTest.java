package dev.cinch.bag.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fuzz.DataFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

final class DataFileEndTest {
  private static final DataFile SAMPLE = DataFile.sample();
  private static final byte[] FIRST = Arrays.copyOf(SAMPLE.bytes(), SAMPLE.ends().get(0));

  /**
   * Two reads of one file need not agree on a network filesystem: the cache may be filled again
   * between them (rule N5).
   */
  @Test
  void c3_copy_holds_only_what_was_checked_in_the_read_that_it_is_of() throws Exception {
    byte[] tornBatch = FIRST.clone();
    Arrays.fill(tornBatch, FIRST.length - 40, FIRST.length - 38, (byte) 0xff);
    byte[] noHeader = FIRST.clone();
    Arrays.fill(noHeader, 20, 30, (byte) 0);

    LockedFile found =
        new DataFileEnd().measure(new Changing(tornBatch, noHeader), FIRST.length, DataFile.HEADER);

    assertEquals(0, found.validLength(), "a reader of this copy would find no header");
  }

  @Test
  void c3_copy_of_a_first_batch_begins_with_the_header() throws Exception {
    assertArrayEquals(FIRST, DataFile.measured(FIRST).copy());
  }

  /** Shows one content to its first reader and another to all later ones. */
  private static final class Changing implements StoreFile {
    private final StoreFile later;
    private StoreFile now;

    Changing(byte[] first, byte[] later) {
      this.now = DataFileBytes.open(first);
      this.later = DataFileBytes.open(later);
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      int count = now.read(into, offset);
      now = later;
      return count;
    }

    @Override
    public long size() throws IOException {
      return now.size();
    }

    @Override
    public void write(ByteBuffer... buffers) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void force() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }
}
