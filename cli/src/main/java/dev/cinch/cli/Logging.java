package dev.cinch.cli;

import java.util.List;

/**
 * Who prints what the libraries log, on standard error. What goes on for long has Logback, and its
 * user may set it up: {@code logback.xml}, or the file that the property {@code
 * logback.configurationFile} names. Logback takes longer to start than other commands take: they
 * have {@code slf4j-simple}, which prints warnings ({@code simplelogger.properties}).
 */
public final class Logging {
  private Logging() {}

  /** To be called before anything logs, with the command line. */
  public static void install(String... args) {
    List<String> words = List.of(args);
    System.setProperty("slf4j.internal.verbosity", "WARN");
    System.setProperty(
        "slf4j.provider",
        goesOn(words)
            ? "ch.qos.logback.classic.spi.LogbackServiceProvider"
            : "org.slf4j.simple.SimpleServiceProvider");
    if (words.contains("-v") || words.contains("--verbose")) {
      System.setProperty("cinch.log.level", "DEBUG");
      System.setProperty("org.slf4j.simpleLogger.log.dev.cinch", "debug");
    }
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
