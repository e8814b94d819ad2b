package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.Model.CommandSpec;

/** A failure that comes again and again is told once a minute. */
class ComplaintsTest {
  private static final long SECOND = 1_000_000_000;

  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final AtomicLong now = new AtomicLong(-5 * SECOND); // of arbitrary origin
  private final Complaints complaints =
      new Complaints(
          new Io(
              new ByteArrayInputStream(new byte[0]),
              new ByteArrayOutputStream(),
              new PrintStream(err, true, StandardCharsets.UTF_8),
              name -> null,
              false,
              false,
              Stop.byHand()),
          CommandSpec.create().name("close"),
          now::get);

  private long lines() {
    return err.toString(StandardCharsets.UTF_8).lines().count();
  }

  @Test
  void theSameIsToldOnceAMinute() {
    for (int second = 0; second < 180; second++) {
      var failure = new Failure.Refusal("too late by " + second + " s");
      assertEquals(ExitCode.REFUSED, complaints.tell("one", failure));
      assertEquals(second / 60 + 1, lines());
      now.addAndGet(SECOND);
    }
  }

  @Test
  void whatIsOfAnotherLogOrOfAnotherKindIsToldAtOnce() {
    assertEquals(ExitCode.REFUSED, complaints.tell("log1", new Failure.Refusal("no")));
    assertEquals(ExitCode.REFUSED, complaints.tell("log2", new Failure.Refusal("no")));
    assertEquals(ExitCode.UNAVAILABLE, complaints.tell("log2", new IOException("gone")));
    assertEquals(3, lines());
    String temporary = "/tmp-00112233445566778899aabbccddeeff: full";
    assertEquals(ExitCode.REFUSED, complaints.tell("log2", new Failure.Refusal(temporary)));
    String another = "/tmp-ffeeddccbbaa99887766554433221100: full";
    assertEquals(ExitCode.REFUSED, complaints.tell("log2", new Failure.Refusal(another)));
    assertEquals(4, lines());
  }
}
