package dev.cinch.cli;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Whole command lines, their arguments separated by NUL: they are understood or refused. */
final class ArgumentsFuzzTest {
  private static final CommandLine LINE = line();

  private static CommandLine line() {
    var nowhere = OutputStream.nullOutputStream();
    return Commands.all(
        new Io(
            new ByteArrayInputStream(new byte[0]),
            nowhere,
            new PrintStream(nowhere, false, StandardCharsets.UTF_8),
            name -> null,
            false,
            false,
            Stop.byHand()));
  }

  @FuzzTest
  void parse(byte[] data) {
    String[] arguments = new String(data, StandardCharsets.UTF_8).split("\0");
    if (Arrays.stream(arguments).anyMatch(a -> a.startsWith("@"))) {
      return; // names a file with arguments
    }
    try {
      var unused = LINE.parseArgs(arguments);
    } catch (ParameterException e) {
      if (String.valueOf(e.getMessage()).isBlank()) {
        throw new AssertionError("refused without a reason", e);
      }
    }
  }
}
