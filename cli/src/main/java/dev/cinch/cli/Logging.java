package dev.cinch.cli;

import java.util.List;
import org.slf4j.LoggerFactory;

/**
 * Who prints what the libraries log, on standard error. What goes on for long has Logback, and its
 * user may set it up: {@code logback.xml}, or the file that the property {@code
 * logback.configurationFile} names. Logback takes longer to start than other commands take: they
 * have {@code slf4j-simple}, which prints warnings.
 */
public final class Logging {
  private static final String SIMPLE = "org.slf4j.simpleLogger.";

  private Logging() {}

  /** To be called before anything logs, with the command line. */
  public static void install(String... args) {
    List<String> words = List.of(args);
    boolean goesOn = goesOn(words);
    System.setProperty("slf4j.internal.verbosity", "WARN");
    System.setProperty(
        "slf4j.provider",
        goesOn
            ? "ch.qos.logback.classic.spi.LogbackServiceProvider"
            : "org.slf4j.simple.SimpleServiceProvider");
    if (words.contains("-v") || words.contains("--verbose")) {
      System.setProperty("cinch.log.level", "DEBUG");
      System.setProperty(SIMPLE + "log.dev.cinch", "debug");
    }
    if (!goesOn) {
      System.setProperty(SIMPLE + "defaultLogLevel", "warn");
      System.setProperty(SIMPLE + "showThreadName", "false");
      System.setProperty(SIMPLE + "showLogName", "false");
      startSimple();
    }
  }

  /** Without looking for its file in the jar: opening that takes a tenth of a short command. */
  private static void startSimple() {
    Thread thread = Thread.currentThread();
    ClassLoader loader = thread.getContextClassLoader();
    thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
    var unused = LoggerFactory.getILoggerFactory();
    thread.setContextClassLoader(loader);
  }

  private static boolean goesOn(List<String> words) {
    String command = words.stream().filter(word -> !word.startsWith("-")).findFirst().orElse("");
    return switch (command) {
      case "serve" -> true;
      case "close" -> words.stream().anyMatch(word -> word.startsWith("--every"));
      case "cat" -> words.contains("--follow");
      default -> false;
    };
  }
}
