package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import org.junit.jupiter.api.Test;

class DiagnosisTest {
  @Test
  void aLineIsSeenBeforeTheNextProbeHangs() throws Exception {
    var diagnosed = new Diagnosed();
    diagnosed.diagnosis.ok("first", "good");
    assertEquals(List.of("ok   first — good"), diagnosed.lines());
    diagnosed.diagnosis.look(
        "second",
        "bad",
        () -> {
          throw new IOException("broken");
        });
    assertEquals("FAIL second: broken — bad", diagnosed.lines().get(1));
  }

  /** The exit code is what a script that reads nothing asks for. */
  @Test
  void whatIsFoundWhenNobodyReadsCountsAllTheSame() throws Exception {
    for (int before = 0; before <= 1; before++) {
      var out = new Output(closed());
      var diagnosis = new Diagnosis(out, new JsonOption());
      for (int i = 0; i < before; i++) {
        diagnosis.ok("first", "good");
      }
      diagnosis.fail("last", "bad");
      var closed = assertThrows(Output.ClosedException.class, out::close);
      assertEquals(ExitCode.DAMAGE, closed.code());
    }
  }

  private static OutputStream closed() {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        throw new IOException("Broken pipe");
      }
    };
  }
}
