package dev.cinch.lease.memory;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Turns that end whatever happens: while one lasts no ceiling is published. */
@Timeout(600)
final class RegistryTurnTest {
  private final AtomicBoolean scarce = new AtomicBoolean();

  private final RegistryTurn turn =
      new RegistryTurn(
          () -> {
            if (scarce.getAndSet(false)) {
              throw new OutOfMemoryError("made by a test");
            }
            return 0;
          });

  @Test
  void aTurnThatCouldNotBeginForWantOfMemoryIsFree() {
    scarce.set(true);
    assertThrows(OutOfMemoryError.class, turn::takeSoon);
    scarce.set(true);
    assertThrows(OutOfMemoryError.class, turn::takeIfFree);
    assertTrue(CompletableFuture.supplyAsync(turn::takeIfFree).join());
  }
}
