package dev.cinch.bag.storage;

import dev.cinch.bag.Rig;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.FaultyObjects;
import dev.cinch.lease.time.ManualTime;
import org.junit.jupiter.api.Nested;

/** Storages that are no directory. */
class StorageProtocolTest {
  @Nested
  class InMemory extends StorageProtocol {
    @Override
    Storage storage(ManualTime time) {
      return Rig.storage(time);
    }
  }

  @Nested
  class OfObjects extends StorageProtocol {
    @Override
    Storage storage(ManualTime time) {
      return Rig.objects(time);
    }
  }

  @Nested
  class OfObjectsBehindABadNetwork extends StorageProtocol {
    @Override
    Storage storage(ManualTime time) {
      return Rig.objects(
          new FakeObjects(time), objects -> new FaultyObjects(objects, 1, true), time);
    }
  }
}
