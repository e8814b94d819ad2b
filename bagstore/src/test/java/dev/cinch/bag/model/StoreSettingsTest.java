package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a builder makes. */
class StoreSettingsTest {
  @Test
  void eachSettingGoesWhereItBelongs() {
    assertEquals(StoreSettings.DEFAULT, StoreSettings.builder().build());
    var all =
        new StoreSettings(
            300,
            4_000,
            200,
            200,
            401,
            402,
            50_000,
            403,
            0660,
            02770,
            Optional.of("us"),
            7,
            StoreSettings.Confirm.LATE,
            StoreSettings.Leases.REQUIRED);
    assertEquals(
        all,
        StoreSettings.builder()
            .bucketWidth(Duration.ofMillis(300))
            .grace(Duration.ofSeconds(4))
            .clockBound(Duration.ofMillis(200))
            .timestampDistance(Duration.ofMillis(401))
            .slowAppend(Duration.ofMillis(402))
            .longestLease(Duration.ofSeconds(50))
            .leaseMargin(Duration.ofMillis(403))
            .modes(0660, 02770)
            .group("us")
            .messageLimit(7)
            .confirm(StoreSettings.Confirm.LATE)
            .leases(StoreSettings.Leases.REQUIRED)
            .build());
  }

  @Test
  void settingsThatCannotWorkAreNotMade() {
    var builder = StoreSettings.builder().grace(Duration.ofMillis(1));
    var refused = assertThrows(IllegalArgumentException.class, builder::build);
    assertEquals(
        "grace is 1 ms; it must be above clock bound + timestamp distance + slow append, 1500 ms",
        refused.getMessage());
  }
}
