package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.fs.LocalSlots;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;

/**
 * Lets the processes of one machine and user write to each other's data files, one after the other
 * (section 2): many short ones then leave one file a bucket, and not one each. Thread-safe.
 */
@CheckReturnValue
public final class LocalShare {
  /**
   * Slots of one log: so many processes may write at once and still leave their files to others; a
   * further one keeps its own to itself.
   */
  static final int SLOTS = 8;

  private final LocalSlots slots;

  public LocalShare(LocalSlots slots) {
    this.slots = slots;
  }

  String boot() {
    return slots.boot();
  }

  /** One writer's part in it. */
  Baton baton(LogContext log, Durability durability) {
    return new Baton(this, log, durability);
  }

  /**
   * Locks the first slot that is free.
   *
   * @param durability a file with less must not be gone on with for more
   */
  Optional<LocalSlots.Slot> lock(LogContext log, Durability durability) throws IOException {
    String prefix =
        "%s-%s-%s-%s-"
            .formatted(
                log.store().identity().id(),
                log.id(),
                log.store().machine(),
                durability.name().toLowerCase(Locale.ROOT));
    for (int i = 0; i < SLOTS; i++) {
      Optional<LocalSlots.Slot> slot = slots.lock(prefix + i);
      if (slot.isPresent()) {
        return slot;
      }
    }
    return Optional.empty();
  }
}
