package dev.cinch.bag.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.Rig;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.NewerFormatException;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** {@code store.json}, and what stands in the directories of keys and instances. */
final class StoreFilesFuzzTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final Path FILE = Path.of("store.json");
  private static final int MOST_NAMES = 8;

  /** The first byte says whether the digest is put right first. */
  @FuzzTest
  void settings(byte[] data) throws Exception {
    if (data.length == 0) {
      return;
    }
    byte[] rest = Arrays.copyOfRange(data, 1, data.length);
    byte[] file = (data[0] & 1) == 0 ? rest : withDigest(rest);
    Optional<StoreIdentity> found =
        Hostile.parse(
            file.length,
            () -> StoreIdentity.decode(file, Name.of(FILE)),
            DamagedException.class,
            NewerFormatException.class);
    if (found.isPresent()) {
      assertEquals(found.get(), StoreIdentity.decode(found.get().encode(), Name.of(FILE)));
      assertTrue(found.get().settings().problems().isEmpty());
    }
  }

  private static byte[] withDigest(byte[] file) {
    try {
      if (new JsonMapper().readTree(file) instanceof ObjectNode node) {
        var text = new StringBuilder();
        node.remove("sha256");
        node.fields()
            .forEachRemaining(f -> text.append(f.getKey() + "=" + f.getValue().asText() + "\n"));
        node.put("sha256", Envelope.sha256(text.toString().getBytes(StandardCharsets.UTF_8)));
        return new JsonMapper().writeValueAsBytes(node);
      }
    } catch (IOException e) {
      return file; // no JSON: as it is
    }
    return file;
  }

  /**
   * Lines of a name, a blank and what the file holds: foreign names mean nothing, and what stands
   * in the way is an I/O error or damage.
   */
  @FuzzTest
  void directories(byte[] data) throws IOException {
    Rig rig = Rig.memory(1);
    StoreFs fs = rig.disk.view(0);
    StoreContext store = rig.open(fs).context().store();
    var made = new ArrayList<Path>();
    for (String line : new String(data, StandardCharsets.ISO_8859_1).split("\n", MOST_NAMES)) {
      int blank = line.indexOf(' ');
      String name = blank < 0 ? line : line.substring(0, blank);
      if (name.isEmpty() || name.contains("/") || name.contains("\0") || name.startsWith(".")) {
        continue;
      }
      if (Name.isTemporary(name)) {
        continue; // a fuzzer learns the one that this store's seeded generator draws next
      }
      byte[] content = line.substring(blank + 1).getBytes(StandardCharsets.ISO_8859_1);
      for (Name directory :
          List.of(store.layout().keys(), store.layout().instances(), store.layout().ceilings())) {
        Path file = directory.resolve(name).path();
        try (var out = fs.create(file, 0644)) {
          out.write(ByteBuffer.wrap(content));
          made.add(file);
        } catch (FileAlreadyExistsException e) {
          continue;
        }
      }
    }
    int n = data.length + 1;
    long extra = 1 << 20;
    Optional<TrustedKeys> keys =
        Hostile.parse(
            n, extra, () -> CountingKeys.ofStore(store).strict().now(), DamagedException.class);
    assertTrue(keys.isEmpty() || keys.get().size() <= made.size());
    var instances = new StoreInstances(store, KEY);
    long number = Hostile.parse(n, extra, instances::takeNumber, IOException.class).orElse(0L);
    if (number > 0) {
      assertTrue(
          Hostile.parse(n, extra, instances::highestEarlierCeiling, IOException.class).isPresent());
    }
  }
}
