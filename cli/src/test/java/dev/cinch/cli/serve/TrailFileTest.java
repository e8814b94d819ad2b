package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ch.qos.logback.core.status.ErrorStatus;
import ch.qos.logback.core.status.InfoStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the log says of a trail that can't be written. */
final class TrailFileTest {
  @Test
  void aFullDiskIsToldOnceAndWithItsCause() {
    var said = new ArrayList<String>();
    var complaints = new TrailFile.Complaints(said::add);
    var full = new IOException("No space left on device");
    for (int i = 0; i < 1_000; i++) {
      complaints.addStatusEvent(new ErrorStatus("IO failure", this, full));
      complaints.addStatusEvent(new InfoStatus("Recovered", this));
    }
    assertEquals(List.of("IO failure: No space left on device"), said);
    complaints.addStatusEvent(new ErrorStatus("IO failure", this, new IOException("gone")));
    assertEquals(2, said.size());
  }
}
