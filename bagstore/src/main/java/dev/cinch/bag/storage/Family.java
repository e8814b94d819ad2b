package dev.cinch.bag.storage;

import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import java.io.IOException;
import java.util.OptionalLong;

/** Documents of a log that are looked for by their last number. */
public enum Family {
  /** They say how far the log was retired (rule R2). */
  CHECKPOINT,
  /** They say how far the log expired (rule R4). */
  FLOOR,
  /** Segments. */
  SEGMENT;

  /** The highest number; empty if there is none. */
  public OptionalLong last(Storage storage, LogLayout log, Freshness freshness) throws IOException {
    Name place = this == SEGMENT ? log.segments() : log.checkpoints();
    return storage.listIfThere(place, freshness).stream()
        .map(this::number)
        .flatMapToLong(OptionalLong::stream)
        .max();
  }

  private OptionalLong number(String name) {
    return this == FLOOR ? LogLayout.floorNumber(name) : Numbered.parse(name);
  }
}
