package dev.cinch.lease.cell.explore;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** Every order of events of small cells. {@code -Dcinch.all=true}: of more of them. */
final class ExplorerTest {
  @TestFactory
  @Tag("share")
  Stream<DynamicTest> oneOwner() {
    return Stream.concat(
            Scenario.SHARE.stream(), Share.ALL ? Scenario.ALL.stream() : Stream.<Scenario>empty())
        .map(s -> DynamicTest.dynamicTest(s.subject() + " " + s.bounds(), () -> explore(s)));
  }

  private static void explore(Scenario s) {
    var explorer = new Explorer(s.subject(), s.bounds(), s.most());
    assertNull(explorer.run());
    assertTrue(explorer.grants() > 0);
    System.out.println(explorer);
  }
}
