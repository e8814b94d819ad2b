package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.common.jimfs.Configuration;
import com.google.common.jimfs.Jimfs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.lease.time.ManualTime;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** A program's test of what it does with a store: on jimfs, with a clock that the test moves. */
class VirtualStoreTest {
  private static final LogName JOBS = new LogName("jobs");

  @Test
  void whatWasAppendedIsReadOnceTheTestMovedTheClock() throws Exception {
    var posix =
        Configuration.unix().toBuilder()
            .setAttributeViews("basic", "owner", "posix")
            .setWorkingDirectory("/")
            .build();
    var time = ManualTime.ticking();
    try (FileSystem disk = Jimfs.newFileSystem(posix)) {
      Path root = disk.getPath("/store");
      var here = Store.Environment.of(new MachineName("here"), time);
      Log log = Store.init(root, StoreSettings.DEFAULT, here).createLog(JOBS);
      try (var writer = log.writer(Durability.CLOSE)) {
        for (String text : List.of("one", "two", "three")) {
          assertInstanceOf(
              Receipt.Committed.class, writer.append(text.getBytes(StandardCharsets.UTF_8)));
          time.advanceNanos(2_000_000_000L);
        }
      }
      time.advanceNanos(10_000_000_000L);
      var elsewhere = Store.Environment.of(new MachineName("there"), time);
      Log same = Store.open(root, elsewhere).log(JOBS);
      same.horizon().advance(same.horizon().reachable(), OptionalLong.of(time.wallNanos()));
      var found = new ArrayList<String>();
      try (var messages = same.messages(Instant.EPOCH, Instant.MAX)) {
        messages.forEachRemaining(m -> found.add(new String(m.payload(), StandardCharsets.UTF_8)));
      }
      assertEquals(List.of("one", "two", "three"), found);
    }
  }
}
