package dev.cinch.bag.logback;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/**
 * A program that logs. Arguments: its name, how many events, and after how many to say so on
 * standard output. Says at its end how many events it logged in a second.
 */
final class LoggingProgram {
  private static final Logger LOG = LoggerFactory.getLogger(LoggingProgram.class);

  private LoggingProgram() {}

  public static void main(String[] args) {
    MDC.put("job", args[0]);
    int events = Integer.parseInt(args[1]);
    int every = Integer.parseInt(args[2]);
    long begun = System.nanoTime();
    for (int i = 0; i < events; i++) {
      LOG.info("event {} of a program that says what it does, in a line of usual length", i);
      if (i % every == every - 1) {
        System.out.println(i + 1);
      }
    }
    System.out.printf("%s: %.0f events/s%n", args[0], events / ((System.nanoTime() - begun) / 1e9));
  }
}
