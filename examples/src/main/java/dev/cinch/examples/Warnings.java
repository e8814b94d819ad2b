package dev.cinch.examples;

/** Of what the libraries log, these programs print warnings. */
final class Warnings {
  private Warnings() {}

  /** To be called before anything logs. */
  static void only() {
    System.setProperty("slf4j.internal.verbosity", "WARN");
    System.setProperty("slf4j.provider", "org.slf4j.simple.SimpleServiceProvider"); // of two
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
  }
}
