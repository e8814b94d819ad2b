package dev.cinch.lease.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a ledger objects to. */
final class LedgerTest {
  private static final LeaseName NAME = new LeaseName("a");
  private static final long LASTS = 100;

  private final Ledger ledger = new Ledger();

  /** Issued as the clock says, for a duration of {@link #LASTS}. */
  private static Witness witness(
      int number, int previous, Ending ending, boolean tentative, long issuedAt) {
    return Altered.with(
        Altered.first(NAME.value(), "h", new Id(0, number), issuedAt, issuedAt + LASTS),
        "generation",
        number,
        "tentative",
        tentative,
        "previous",
        previous == 0 ? Optional.empty() : Optional.of(new Id(0, previous)),
        "previousEnding",
        ending,
        "previousEndedAt",
        issuedAt);
  }

  private void granted(int number, int previous, Ending ending, long sent) {
    ledger.heard(witness(number, previous, ending, false, sent + 1), sent, sent + 2, LASTS);
  }

  private void granted(int number, int previous, Ending ending, long sent, long issuedAt) {
    ledger.heard(witness(number, previous, ending, false, issuedAt), sent, sent + 2, LASTS);
  }

  private void objects(String... lines) {
    assertEquals(List.of(lines), ledger.violations());
  }

  @Test
  void oneHolderAfterTheOtherIsWell() {
    granted(1, 0, Ending.NONE, 0);
    ledger.releasing(NAME, new Id(0, 1));
    granted(2, 1, Ending.RELEASED, 10);
    granted(3, 2, Ending.BROKEN, 300);
    granted(3, 2, Ending.BROKEN, 350); // a renewal
    granted(5, 4, Ending.RELEASED, 600); // nobody heard of the fourth
    objects();
    assertEquals(5, ledger.heard());
  }

  @Test
  void whatIsHeldIsNotGranted() {
    granted(1, 0, Ending.NONE, 0);
    granted(2, 7, Ending.UNKNOWN, 50);
    objects("a: granted while " + new Id(0, 1) + " was held");
  }

  @Test
  void renewalsCount() {
    granted(1, 0, Ending.NONE, 0);
    granted(1, 0, Ending.NONE, 90);
    granted(2, 7, Ending.UNKNOWN, 150);
    objects("a: granted while " + new Id(0, 1) + " was held");
  }

  @Test
  void whatMayHaveBeenOverIsNoObjection() {
    granted(1, 0, Ending.NONE, 0);
    granted(2, 7, Ending.UNKNOWN, 99); // it may have been granted at 101
    objects();
  }

  @Test
  void tentativeLeasesMayBeTaken() {
    ledger.heard(witness(1, 0, Ending.NONE, true, 1), 0, 2, LASTS);
    granted(2, 1, Ending.BROKEN, 50);
    objects();
  }

  @Test
  void nothingIsReleasedByItself() {
    granted(1, 0, Ending.NONE, 0);
    granted(2, 1, Ending.RELEASED, 200);
    objects("a: " + new Id(0, 1) + " counts as released, and never was");
  }

  @Test
  void nothingIsBrokenBeforeItsExpiry() {
    granted(1, 0, Ending.NONE, 0, 60); // until 160, by the service's clock
    granted(2, 1, Ending.BROKEN, 110, 120);
    objects("a: granted before " + new Id(0, 1) + " had expired");
  }

  @Test
  void aRenewalThatIsHeardLaterCountsToo() {
    granted(2, 1, Ending.BROKEN, 110, 120);
    granted(1, 0, Ending.NONE, 0, 60);
    objects("a: granted before " + new Id(0, 1) + " had expired");
  }

  @Test
  void leasesAreNumberedOnceAndHaveOneSuccessor() {
    granted(1, 0, Ending.NONE, 0);
    granted(2, 1, Ending.BROKEN, 200);
    granted(3, 1, Ending.BROKEN, 400);
    objects("a: two leases follow " + new Id(0, 1));
  }

  @Test
  void twoOfOneGeneration() {
    granted(1, 0, Ending.NONE, 0);
    var other =
        Altered.with(
            Altered.first(NAME.value(), "h", new Id(5, 5), 300, 400),
            "previousEnding",
            Ending.UNKNOWN,
            "previousEndedAt",
            300);
    ledger.heard(other, 299, 301, LASTS);
    objects("a: two leases of generation 1");
  }
}
