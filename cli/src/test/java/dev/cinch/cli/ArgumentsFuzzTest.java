package dev.cinch.cli;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Whole command lines, their arguments separated by NUL: they are understood or refused. */
final class ArgumentsFuzzTest {
  @FuzzTest
  void parse(byte[] data) {
    var nowhere = OutputStream.nullOutputStream();
    var io =
        new Io(
            new ByteArrayInputStream(new byte[0]),
            nowhere,
            new PrintStream(nowhere, false, StandardCharsets.UTF_8),
            name -> null,
            false,
            false,
            Stop.byHand());
    String[] arguments = new String(data, StandardCharsets.UTF_8).split("\0");
    if (Arrays.stream(arguments).anyMatch(a -> a.startsWith("@"))) {
      return; // names a file with arguments
    }
    CommandLine line = Commands.all(io);
    try {
      line.parseArgs(arguments);
    } catch (ParameterException e) {
      if (String.valueOf(e.getMessage()).isBlank()) {
        throw new AssertionError("refused without a reason", e);
      }
    }
  }
}
