package dev.cinch.cli;

import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * What the libraries log: warnings to standard error, one line each, no stack traces. A logging
 * library would take longer to start than most commands take.
 */
public final class QuietLogging implements SLF4JServiceProvider {
  /** The system property that names the level; WARN unless set. */
  static final String LEVEL = "cinch.log.level";

  private final IMarkerFactory markers = new BasicMarkerFactory();
  private final MDCAdapter mdc = new NOPMDCAdapter();
  private Level level = Level.WARN;

  /** Called by SLF4J, and by {@link #install}. */
  public QuietLogging() {}

  /** From now on this is what the process logs with; to be called before anything logs. */
  public static void install() {
    System.setProperty("slf4j.internal.verbosity", "WARN");
    System.setProperty("slf4j.provider", QuietLogging.class.getName());
  }

  @Override
  public void initialize() {
    String name = System.getProperty(LEVEL);
    level = name == null ? Level.WARN : Level.valueOf(name);
  }

  @Override
  public ILoggerFactory getLoggerFactory() {
    return name -> new StderrLogger(name, isOthers(name) ? Level.WARN : level);
  }

  private static boolean isOthers(String name) {
    return name.startsWith("io.netty.") || name.startsWith("io.vertx.");
  }

  @Override
  public IMarkerFactory getMarkerFactory() {
    return markers;
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return mdc;
  }

  @Override
  public String getRequestedApiVersion() {
    return "2.0.99";
  }

  /** Thread-safe: a line is written at once. */
  private static final class StderrLogger extends LegacyAbstractLogger {
    private static final long serialVersionUID = 1L;

    private final int lowest;

    StderrLogger(String name, Level level) {
      this.name = name;
      lowest = level.toInt();
    }

    @Override
    protected @Nullable String getFullyQualifiedCallerName() {
      return null;
    }

    @Override
    protected void handleNormalizedLoggingCall(
        Level at,
        @Nullable Marker marker,
        String pattern,
        Object @Nullable [] args,
        @Nullable Throwable thrown) {
      String text = MessageFormatter.basicArrayFormat(pattern, args);
      String detail = "";
      if (lowest < Level.WARN.toInt()) {
        String simple = name.substring(name.lastIndexOf('.') + 1);
        detail =
            LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.MILLIS)
                + " "
                + simple
                + ": ";
      }
      String line = "cinch: " + at + ": " + detail + text.replaceAll("[\r\n]+", "; ") + "\n";
      System.err.print(line);
      System.err.flush();
    }

    private boolean shown(Level at) {
      return at.toInt() >= lowest;
    }

    @Override
    public boolean isTraceEnabled() {
      return shown(Level.TRACE);
    }

    @Override
    public boolean isDebugEnabled() {
      return shown(Level.DEBUG);
    }

    @Override
    public boolean isInfoEnabled() {
      return shown(Level.INFO);
    }

    @Override
    public boolean isWarnEnabled() {
      return shown(Level.WARN);
    }

    @Override
    public boolean isErrorEnabled() {
      return shown(Level.ERROR);
    }
  }
}
