package dev.cinch.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.LayoutWrappingEncoder;
import ch.qos.logback.core.joran.spi.ConsoleTarget;
import ch.qos.logback.core.spi.ContextAwareBase;

/**
 * Sets logback up: warnings to standard error, one line each, no stack traces. In code and not in
 * XML, because reading XML would take longer than most commands do.
 */
public final class QuietLogging extends ContextAwareBase implements Configurator {
  /** The system property that names the level; WARN unless set. */
  static final String LEVEL = "cinch.log.level";

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    Level level = Level.toLevel(System.getProperty(LEVEL), Level.WARN);
    var layout = new PatternLayout();
    layout.setContext(context);
    String detail = level.isGreaterOrEqual(Level.WARN) ? "" : "%d{HH:mm:ss.SSS} %logger{0}: ";
    layout.setPattern("cinch: %level: " + detail + "%replace(%msg){'[\\r\\n]+', '; '}%nopex%n");
    layout.start();
    var encoder = new LayoutWrappingEncoder<ILoggingEvent>();
    encoder.setContext(context);
    encoder.setLayout(layout);
    encoder.start();
    var appender = new ConsoleAppender<ILoggingEvent>();
    appender.setContext(context);
    appender.setName("stderr");
    appender.setTarget(ConsoleTarget.SystemErr.getName());
    appender.setEncoder(encoder);
    appender.start();
    var root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.setLevel(level);
    root.addAppender(appender);
    context.getLogger("io.netty").setLevel(Level.WARN);
    context.getLogger("io.vertx").setLevel(Level.WARN);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }
}
