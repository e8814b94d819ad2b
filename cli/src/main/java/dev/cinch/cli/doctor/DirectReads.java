package dev.cinch.cli.doctor;

import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * Whether reads go past this machine's cache, as the look at a prelock and at the end of a data
 * file must (rule N6).
 */
final class DirectReads {
  private final Access access;
  private final boolean oneMachine;
  private final Diagnosis diagnosis;

  /** How files are read here. */
  interface Access {
    /** Whether there are such reads at all. */
    boolean areSupported(Path file) throws IOException;

    /** Reads the first byte as a store does, and says how many bytes it got. */
    int read(Path file) throws IOException;

    static Access of(PosixFs fs) {
      return new Access() {
        @Override
        public boolean areSupported(Path file) throws IOException {
          return fs.hasDirectReads(file);
        }

        @Override
        public int read(Path file) throws IOException {
          try (StoreFile in = fs.readShared(file)) {
            return in.read(ByteBuffer.allocate(1), 0);
          }
        }
      };
    }
  }

  /**
   * @param oneMachine whether it is known that no other machine sees the files
   */
  DirectReads(Access access, boolean oneMachine, Diagnosis diagnosis) {
    this.access = access;
    this.oneMachine = oneMachine;
    this.diagnosis = diagnosis;
  }

  /**
   * Tries it.
   *
   * @param file this user's own, of one byte
   * @throws IOException if it can't be read, but not for want of direct reads
   */
  void probe(Path file) throws IOException {
    if (!access.areSupported(file)) {
      missing();
      return;
    }
    int n = access.read(file); // where opening works reading may not: an old client, a filter
    if (n == 1) {
      diagnosis.ok(
          "reads past the cache", "what others wrote is seen, whatever this machine keeps");
    } else {
      diagnosis.fail(
          "a read past the cache gave %d bytes of 1".formatted(n),
          "a bucket that was closed looks open: messages are lost; use another filesystem");
    }
  }

  private void missing() throws IOException {
    String what = "no reads past the cache (O_DIRECT)";
    if (oneMachine) {
      diagnosis.warn(what, "a page that was cached wrong looks like damage");
    } else {
      diagnosis.fail(
          what,
          "a bucket that another machine closed may look open: messages are lost; use a filesystem that has them");
    }
  }
}
