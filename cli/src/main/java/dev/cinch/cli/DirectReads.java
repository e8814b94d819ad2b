package dev.cinch.cli;

import com.sun.nio.file.ExtendedOpenOption;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Whether reads go past this machine's cache, as the look at a prelock and at the end of a data
 * file must (rule N6).
 */
final class DirectReads {
  /** EINVAL, which is how an open says so, in the language of this process. */
  private static final String NOT_SUPPORTED = notSupported();

  private final Access access;
  private final boolean oneMachine;
  private final Diagnosis diagnosis;

  /** How files are read here. */
  interface Access {
    /** Opens a file for direct reads alone, and closes it. */
    void open(Path file) throws IOException;

    /** Reads the first byte as a store does, and says how many bytes it got. */
    int read(Path file) throws IOException;

    static Access of(StoreFs fs) {
      return new Access() {
        @Override
        public void open(Path file) throws IOException {
          openDirect(file);
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

  private static String notSupported() {
    try {
      FileChannel.open(
              Path.of("/proc/self/status"), // certainly has none
              StandardOpenOption.READ,
              ExtendedOpenOption.DIRECT)
          .close();
    } catch (FileSystemException e) {
      String reason = e.getReason();
      if (reason != null && e.getClass() == FileSystemException.class) {
        return reason;
      }
    } catch (IOException | UnsupportedOperationException e) {
      // No Linux, or no such file: in English then.
    }
    return "Invalid argument";
  }

  private static void openDirect(Path file) throws IOException {
    FileChannel.open(
            file, StandardOpenOption.READ, StandardOpenOption.WRITE, ExtendedOpenOption.DIRECT)
        .close();
  }

  /**
   * Tries it.
   *
   * @param file this user's own, of one byte
   * @throws IOException if it can't be read, but not for want of direct reads
   */
  void probe(Path file) throws IOException {
    if (!isSupported(file)) {
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

  private boolean isSupported(Path file) throws IOException {
    try {
      access.open(file);
      return true;
    } catch (FileSystemException e) {
      if (!NOT_SUPPORTED.equals(e.getReason())) {
        throw e; // another error says nothing about direct reads
      }
      return false;
    } catch (UnsupportedOperationException e) {
      return false; // as EINVAL
    }
  }
}
