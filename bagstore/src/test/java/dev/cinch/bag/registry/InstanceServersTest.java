package dev.cinch.bag.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.registry.ServiceNames.ServerEntry;
import dev.cinch.bag.registry.ServiceNames.SignedName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Where servers of one instance leave their addresses (rule L9). */
final class InstanceServersTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private StoreContext store;

  @BeforeEach
  void start() throws IOException {
    Rig rig = Rig.memory(5);
    store = rig.open(rig.disk.view(Rig.ALICE), rig.time).context().store();
    assertEquals(1, new StoreInstances(store, file("http://a:1"), KEY).takeNumber());
  }

  private static InstanceFile file(String addresses) {
    return new InstanceFile(addresses, "web-1");
  }

  private String found() throws IOException {
    return StoreInstances.latest(store).orElseThrow().where().orElseThrow().address();
  }

  private List<String> files() throws IOException {
    return PosixStore.of(store.storage()).fs().list(store.layout().instances().path()).stream()
        .filter(name -> SignedName.parse(name).isEmpty())
        .sorted()
        .toList();
  }

  @Test
  void l9_eachServerThatJoinsIsFound() throws IOException {
    assertTrue(InstanceServers.join(store, 1, file("http://b:1"), KEY));
    assertTrue(InstanceServers.join(store, 1, file("http://c:1"), KEY));
    assertEquals("http://a:1,http://b:1,http://c:1", found());
    assertEquals(found(), StoreShards.look(store).servers().servers().get(0).address());
    assertEquals(List.of("0000000001", "0000000001+01", "0000000001+02"), files());
  }

  @Test
  void l9_aServerThatIsKnownLeavesNothing() throws IOException {
    assertTrue(InstanceServers.join(store, 1, file("http://b:1,http://c:1"), KEY));
    for (String known : List.of("http://a:1", "http://c:1", "http://c:1,http://a:1")) {
      assertTrue(InstanceServers.join(store, 1, file(known), KEY));
    }
    assertEquals("http://a:1,http://b:1,http://c:1", found());
    assertEquals(2, files().size());
  }

  @Test
  void l9_noServerOfAnotherInstanceIsFound() throws IOException {
    assertTrue(InstanceServers.join(store, 1, file("http://b:1"), KEY));
    assertEquals(2, new StoreInstances(store, file("http://c:1"), KEY).takeNumber());
    assertEquals("http://c:1", found());
    assertTrue(InstanceServers.join(store, 2, file("http://a:1"), KEY));
    assertEquals("http://c:1,http://a:1", found());
    assertEquals(3, new StoreInstances(store, file("http://d:1"), KEY).takeNumber());
  }

  /** Its writer stopped in between; or somebody has deleted one. */
  @Test
  void whatWasCutShortIsNoAddress() throws IOException {
    assertTrue(InstanceServers.join(store, 1, file("http://b:1"), KEY));
    Path cut = store.layout().instances().resolve(new ServerEntry(1, 2).toString()).path();
    PosixStore.of(store.storage())
        .fs()
        .create(cut, PosixStore.of(store.storage()).fileMode())
        .close();
    assertTrue(InstanceServers.join(store, 1, file("http://c:1"), KEY));
    PosixStore.of(store.storage())
        .fs()
        .unlink(store.layout().instances().resolve(new ServerEntry(1, 1).toString()).path());
    assertEquals("http://a:1,http://c:1", found());
    assertTrue(InstanceServers.join(store, 1, file("http://b:1"), KEY));
    assertEquals("http://a:1,http://c:1,http://b:1", found());
  }

  @Test
  void thereAreNoMoreThanClientsTake() throws IOException {
    for (int i = 1; i < 16; i++) {
      assertTrue(InstanceServers.join(store, 1, file("http://b:" + i), KEY));
    }
    assertFalse(InstanceServers.join(store, 1, file("http://c:1"), KEY));
    assertEquals(16, found().split(",").length);
    assertEquals(16, files().size());
  }

  @Test
  void namesAreReadAsTheyAreWritten() {
    assertEquals(
        Optional.of(new ServerEntry(7, 2)), ServerEntry.parse(new ServerEntry(7, 2).toString()));
    for (String none : List.of("0000000007", "0000000007+2", "0000000007+00", "0000000000+01")) {
      assertEquals(Optional.empty(), ServerEntry.parse(none), none);
    }
  }
}
