package dev.cinch.bag.storage.object;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class ObjectStoreTest {
  private static final String FILE = "a-0123456789abcdef0123456789abcdef.log";
  private static final Name NAME = new Name("/store").resolve("b").resolve(FILE);

  private final ManualTime time = new ManualTime();
  private final FakeObjects objects = new FakeObjects(time);
  private final Storage storage = Rig.objects(objects, network -> network, time);

  private void put(String key) {
    assertTrue(objects.put("s/b/" + FILE + "/" + key, ByteBuffer.allocate(1)));
  }

  private long size() throws IOException {
    return storage.open(NAME, Freshness.CERTAIN).size();
  }

  /** A server may list what it is just putting, under a name of its own, between two batches. */
  @Test
  void whatIsNoBatchEndsNoDataFile() throws IOException {
    put("00000001");
    put("00000001-7b0d5e3a-2f0c-4d55-9df1-0c6f0a1f4f10");
    put("00000002");
    assertEquals(2, size());
  }

  @Test
  void dataFileEndsBeforeTheFirstBatchThatIsMissing() throws IOException {
    put("00000001");
    put("00000003");
    assertEquals(1, size());
  }
}
