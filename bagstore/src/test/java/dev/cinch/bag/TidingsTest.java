package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.hold.LeaseListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Who is told what becomes of leases, and when. */
final class TidingsTest {
  private static final List<LeaseName> NAMES = List.of(new LeaseName("a"));

  private final List<String> told = new ArrayList<>();

  private LeaseListener listener(String who) {
    return new LeaseListener() {
      @Override
      public void atRisk(List<LeaseName> names, Duration left) {
        told.add(who + ": risk " + names + " " + left);
      }

      @Override
      public void lost(List<LeaseName> names, String why) {
        told.add(who + ": lost " + names + " " + why);
      }
    };
  }

  @Test
  void eachIsToldOfEachOnceAndNotWhileItsThreadSubmits() {
    var submits = new AtomicBoolean(true);
    var tidings = new Tidings(submits::get);
    tidings.listen(listener("one"));
    tidings.listen(listener("two"));
    tidings.atRisk(NAMES, Duration.ofSeconds(3));
    tidings.lost(NAMES, "late");
    assertEquals(List.of(), told);
    tidings.tell();
    tidings.tell();
    assertEquals(
        List.of(
            "one: risk [a] PT3S", "two: risk [a] PT3S", "one: lost [a] late", "two: lost [a] late"),
        told);
    told.clear();
    submits.set(false);
    tidings.lost(NAMES, "gone");
    assertEquals(List.of("one: lost [a] gone", "two: lost [a] gone"), told);
  }
}
