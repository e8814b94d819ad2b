package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.TimeBound;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reports as chronyc 4.3 prints them. */
class ChronySourceTest {
  private static final String SYNCHRONISED =
      "7F000001,127.0.0.1,4,1795479492.935982665,-0.000001046,-0.000000124,0.000000124,-0.058,"
          + "-0.000,0.778,0.000005520,0.000007987,2.0,Normal";
  private static final String LOCAL =
      "7F7F0101,,3,1795479442.140355090,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,"
          + "0.000000000,0.000000000,0.0,Normal";
  private static final String NOT =
      "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,"
          + "1.000000000,1.000000000,0.0,Not synchronised";

  @Test
  void theErrorIsTheCorrectionTheDispersionAndHalfTheDelay() throws IOException {
    assertEquals(1_046 + 7_987 + 2_760, ChronySource.error(SYNCHRONISED + "\n"));
    assertEquals(0, ChronySource.error(LOCAL));
    String off = SYNCHRONISED.replace("-0.000001046", "1.500000000");
    assertEquals(1_500_000_000L + 7_987 + 2_760, ChronySource.error(off));
    String odd = SYNCHRONISED.replace("0.000005520", "0.000000001");
    assertEquals(1_046 + 7_987 + 1, ChronySource.error(odd)); // rounded up
  }

  @Test
  void whatTellsNothingIsRefusedInWords() {
    refused("chrony is not synchronised", NOT);
    refused("chronyc's report has 1 fields, not 14", "");
    refused("chronyc's report has 1 fields, not 14", "506 Cannot talk to daemon");
    String wrong = "chronyc's report has no number of seconds where one should be";
    for (String number : new String[] {"x", "", "1e9.0", "99999999999999.0", "NaN"}) {
      refused(wrong, SYNCHRONISED.replace("-0.000001046", number));
      refused(wrong, SYNCHRONISED.replace("0.000005520", number));
      refused(wrong, SYNCHRONISED.replace("0.000007987", number));
    }
  }

  private static void refused(String why, String report) {
    var e = assertThrows(IOException.class, () -> ChronySource.error(report));
    assertEquals(why, e.getMessage());
  }

  @Test
  void theMachinesClockIsTheMiddle() throws IOException {
    var time = new ManualTime();
    BoundSource.Measurement said = new ChronySource(time, List.of("echo", SYNCHRONISED)).measure();
    assertEquals(TimeBound.around(ManualTime.START, 11_793, TimeBound.Kind.MEASURED), said.bound());
    assertEquals(time.monotonicNanos(), said.monotonic());
    assertEquals(ManualTime.START, said.wall());
  }

  @ParameterizedTest
  @CsvSource({
    "no-such-program-anywhere, can't run chronyc: is it installed?",
    "false, chronyc: ",
  })
  void whereItCanNotBeAskedThatIsTold(String program, String why) {
    var source = new ChronySource(new ManualTime(), List.of(program));
    var e = assertThrows(IOException.class, () -> source.measure().wall());
    assertEquals(why.strip(), String.valueOf(e.getMessage()).strip());
  }
}
