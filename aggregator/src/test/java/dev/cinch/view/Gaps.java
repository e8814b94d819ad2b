package dev.cinch.view;

import dev.cinch.bag.read.Gap;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import java.nio.file.Path;
import java.util.function.Consumer;

/** A reader that goes on where messages expired under it. */
record Gaps(Consumer<Gap> told) implements LogReader.Objection {
  @Override
  public void ignored(Message message, Path file, String why) {
    throw new AssertionError(file + ": " + why);
  }

  @Override
  public void expired(Gap gap) {
    told.accept(gap);
  }
}
