package dev.cinch.cli.serve;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.spi.ContextAware;
import ch.qos.logback.core.spi.LifeCycle;
import ch.qos.logback.core.status.Status;
import ch.qos.logback.core.status.StatusListener;
import ch.qos.logback.core.util.FileSize;
import dev.cinch.lease.http.LeaseServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.LoggerFactory;

/**
 * The file that has a server's trail, by Logback: files of the same name and a number follow it.
 */
final class TrailFile {
  /** So many of that size; the oldest goes first. */
  private static final int FILES = 10;

  private static final long FILE_BYTES = 100 << 20;

  private TrailFile() {}

  /**
   * Has the trail of a lease server written to a file: one line an event, and nothing else.
   *
   * @throws IOException if it can't be written to
   */
  static void write(Path file) throws IOException {
    make(file);
    Files.newOutputStream(file, StandardOpenOption.APPEND).close(); // which Logback tells nobody
    if (!(LoggerFactory.getILoggerFactory() instanceof LoggerContext context)) {
      throw new IllegalStateException("Logback writes the trail, and is not there");
    }
    var appender = new OwnersFile();
    var rolling = new FixedWindowRollingPolicy();
    rolling.setFileNamePattern(file.toString().replace("%", "\\%") + ".%i");
    rolling.setMaxIndex(FILES - 1);
    rolling.setParent(appender);
    var size = new SizeBasedTriggeringPolicy<ILoggingEvent>();
    size.setMaxFileSize(new FileSize(FILE_BYTES));
    var encoder = new PatternLayoutEncoder();
    encoder.setPattern("%msg%n");
    encoder.setCharset(StandardCharsets.UTF_8);
    appender.setFile(file.toString());
    appender.setRollingPolicy(rolling);
    appender.setTriggeringPolicy(size);
    appender.setEncoder(encoder);
    for (ContextAware part : List.of(rolling, size, encoder, appender)) {
      part.setContext(context);
      ((LifeCycle) part).start();
    }
    var trail = context.getLogger(LeaseServer.TRAIL);
    trail.setLevel(Level.INFO);
    trail.setAdditive(false);
    trail.addAppender(appender);
    var log = LoggerFactory.getLogger(TrailFile.class);
    context
        .getStatusManager()
        .add(new Complaints(text -> log.warn("the trail {} lacks lines: {}", file, text)));
  }

  /** What Logback complains of: the same once a minute, since on a full disk each line fails. */
  static final class Complaints implements StatusListener {
    private static final long QUIET_MS = 60_000;

    private final Consumer<String> say;
    private String last = "";
    private long until;

    Complaints(Consumer<String> say) {
      this.say = say;
    }

    @Override
    public synchronized void addStatusEvent(Status status) {
      Throwable cause = status.getThrowable();
      String text = status.getMessage() + (cause == null ? "" : ": " + cause.getMessage());
      if (status.getLevel() >= Status.WARN
          && !(text.equals(last) && status.getTimestamp() < until)) {
        last = text;
        until = status.getTimestamp() + QUIET_MS;
        say.accept(text);
      }
    }
  }

  private static void make(Path file) throws IOException {
    try {
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-r-----")));
    } catch (FileAlreadyExistsException e) {
      // It goes on where it ended.
    }
  }

  /** Is its owner's to write and its group's to read, also after the one before was full. */
  private static final class OwnersFile extends RollingFileAppender<ILoggingEvent> {
    @Override
    public void openFile(String name) throws IOException {
      make(Path.of(name));
      super.openFile(name);
    }
  }
}
