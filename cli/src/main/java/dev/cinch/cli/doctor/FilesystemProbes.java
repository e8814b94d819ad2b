package dev.cinch.cli.doctor;

import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FsClock;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;

/** Tries out a filesystem's operations in a directory of its own, and removes it. */
final class FilesystemProbes {
  private static final int CLOCK_READINGS = 5;
  private static final long NANOS_PER_MS = 1_000_000;
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final StoreFs fs;
  private final Path place;
  private final StoreSettings settings;
  private final TimeSource time;
  private final DirectReads directReads;
  private final Diagnosis diagnosis;
  private boolean written;

  /**
   * @param place does not exist yet
   */
  FilesystemProbes(
      StoreFs fs,
      Path place,
      StoreSettings settings,
      TimeSource time,
      DirectReads directReads,
      Diagnosis diagnosis) {
    this.fs = fs;
    this.place = place;
    this.settings = settings;
    this.time = time;
    this.directReads = directReads;
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    try {
      fs.mkdir(place, settings.directoryMode());
    } catch (IOException e) {
      diagnosis.fail(
          "make a directory: " + Failure.of(e).line(), "this user can't append or close here");
      return;
    }
    try {
      diagnosis.look("modes", "others may be unable to close what this user wrote", this::modes);
      diagnosis.look("create", "nothing can be appended", this::create);
      diagnosis.look("link", "no bucket can be closed", this::link);
      if (written) {
        diagnosis.look("force", "SYNC does not survive a power cut", this::force);
      }
      diagnosis.look("clock", "appends and closing are refused", this::clock);
      diagnosis.look("change time", "a replaced prelock could be missed", this::changeTime);
      if (written) {
        diagnosis.look(
            "read past the cache",
            "no append can be confirmed and no bucket closed; use another filesystem",
            () -> directReads.probe(file("create")));
      } else { // a full disk says nothing about either
        diagnosis.note(
            "forcing, and reads past the cache, were not tried",
            "no file can be written: see what failed above, and run this again");
      }
    } finally {
      diagnosis.look("remove what was tried out", "delete " + place + " yourself", this::clean);
    }
  }

  private Path file(String name) {
    return place.resolve(Name.TEMPORARY_PREFIX + name);
  }

  private void modes() throws IOException {
    int actual = fs.status(place).mode();
    int wanted = settings.directoryMode();
    if (actual == wanted) {
      diagnosis.ok("mode %o of new directories".formatted(actual), "as the store demands");
    } else {
      diagnosis.warn(
          "new directories get mode %o and not %o".formatted(actual, wanted),
          "other users may be unable to close what this user wrote");
    }
  }

  private void create() throws IOException {
    Path file = file("create");
    try (StoreFile out = fs.create(file, settings.fileMode())) {
      out.write(ByteBuffer.wrap(new byte[] {1}));
    }
    written = true;
    try {
      fs.create(file, settings.fileMode()).close();
      diagnosis.fail(
          "a file was created exclusively twice", "two writers could share a file: data is lost");
    } catch (FileAlreadyExistsException e) {
      diagnosis.ok("create exclusively", "every writer has files of its own");
    }
  }

  private void link() throws IOException {
    Path file = file("link");
    Path other = file("link2");
    fs.create(file, settings.fileMode()).close();
    fs.link(file, other);
    Object count = Files.getAttribute(other, "unix:nlink");
    try {
      fs.link(file, other);
      diagnosis.fail(
          "a name was linked twice", "two closers could both win: messages appear and vanish");
      return;
    } catch (FileAlreadyExistsException e) {
      diagnosis.ok("link, the first one wins", "locks and records are published once");
    }
    if (count.equals(2)) {
      diagnosis.ok("link count 2", "links are real");
    } else {
      diagnosis.warn("link count " + count + " and not 2", "links may be copies here");
    }
  }

  private void force() throws IOException {
    Path file = file("force");
    try (StoreFile out = fs.create(file, settings.fileMode())) {
      out.write(ByteBuffer.wrap(new byte[] {1}));
      out.force();
    }
    fs.forceDirectory(place);
    diagnosis.ok("force files and directories", "SYNC does what the storage promises");
  }

  private void clock() throws IOException {
    var clock = new FsClock(fs, new Fresh(fs), place, settings.directoryMode());
    long before = time.wallNanos();
    long now = clock.now();
    long after = time.wallNanos();
    long skew = now < before ? now - before : Math.max(0, now - after);
    String what = "filesystem's clock %+.3f s from this machine's".formatted(skew / 1e9);
    String bounds =
        "%.3f s ahead to %.3f s behind are allowed"
            .formatted(settings.clockAheadMs() / 1e3, settings.clockBehindMs() / 1e3);
    boolean coarse = now % NANOS_PER_SECOND == 0;
    for (int i = 1; i < CLOCK_READINGS && coarse; i++) {
      coarse = clock.now() % NANOS_PER_SECOND == 0;
    }
    boolean refused =
        -skew > settings.clockAheadMs() * NANOS_PER_MS
            || skew > settings.clockBehindMs() * NANOS_PER_MS;
    // A clock that is right looks ahead by what is cut off, so there is nothing to set.
    boolean cutOff = coarse && settings.clockAheadMs() * NANOS_PER_MS <= NANOS_PER_SECOND;
    boolean explained =
        cutOff && -skew <= settings.clockAheadMs() * NANOS_PER_MS + NANOS_PER_SECOND && skew <= 0;
    if (!refused) {
      diagnosis.ok(what, bounds);
    } else if (!explained) {
      diagnosis.fail(what, "appends and closing are refused: " + bounds + "; set the clock (NTP)");
    }
    if (!coarse) {
      diagnosis.ok("change times finer than a second", "fine enough for any bucket width");
    } else if (cutOff) {
      diagnosis.fail(
          "change times in whole seconds",
          "a clock that is right looks up to 1 s ahead (%s), and then all is refused: make a store with --clock-ahead above 1 s, and with wide buckets and grace"
              .formatted(bounds));
    } else {
      diagnosis.warn(
          "change times in whole seconds", "make buckets and grace wide, several seconds at least");
    }
  }

  /** Whether a change time is the system's, and not one that a user sets. */
  private void changeTime() throws IOException {
    Path directory = file("times");
    fs.mkdir(directory, settings.directoryMode());
    long before = fs.status(directory).changeTime();
    Files.setLastModifiedTime(directory, FileTime.fromMillis(0));
    long after = fs.status(directory).changeTime();
    if (after >= before) {
      diagnosis.ok("change times can't be set", "they tell the time and a replaced prelock");
    } else {
      diagnosis.fail(
          "setting a directory's time set its change time back", "the filesystem has no own clock");
    }
  }

  private void clean() throws IOException {
    for (String name : fs.list(place)) {
      Path path = place.resolve(name);
      if (Files.isDirectory(path)) {
        fs.rmdir(path);
      } else {
        fs.unlink(path);
      }
    }
    fs.rmdir(place);
  }
}
