package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Two retire a log at once, and one of them more than the other. */
class RetentionsTest {
  @Test
  void r2_whoRetiresLessGoesOnBehindTheOthersLine() throws Exception {
    boolean fired = true;
    int k = 0;
    while (fired) {
      Rig rig = rig(++k, 2);
      rig.time.advanceMs(7_200_000);
      Lines.write(rig, 5, 5);
      Lines.write(rig, 5, 5);
      aggregate(rig);
      List<String> before = Lines.settled(open(rig));
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              retireAll(rig);
            }
          });
      new Retention(rig.open(faulty), HOUR).run();
      assertEquals(before, Lines.settled(open(rig)), "before operation " + k);
      fired = left[0] <= 0;
    }
    assertTrue(k > 10, "operations: " + k);
  }

  private static void retireAll(Rig rig) {
    try {
      new Retention(open(rig), Duration.ZERO).run();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
