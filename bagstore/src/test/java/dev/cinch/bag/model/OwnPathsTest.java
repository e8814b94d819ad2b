package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.registry.ServiceNames;
import dev.cinch.lease.Id;
import dev.cinch.lease.ShardMap;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What has a name of the store's, in the place of that name. */
class OwnPathsTest {
  private static final Id ID = Id.parse("0123456789abcdef0123456789abcdef");
  private static final Name ROOT = new Name("/store");

  private final StoreLayout store = new StoreLayout(ROOT);
  private final LogName name = new LogName("jobs.1_2-3");
  private final LogLayout log = store.log(name);
  private final Bucket bucket = Bucket.of(1_764_000_000_000_000_000L, 1_000_000_000);

  private static boolean isOwn(Name name, boolean directory) {
    return OwnPaths.has(name.within(ROOT), directory);
  }

  @Test
  void allThatTheLayoutNames() {
    String sha = "ab".repeat(32);
    String signed = "." + "0f".repeat(64);
    Name place = log.bucket(bucket);
    var files =
        new ArrayList<>(
            List.of(
                store.settings(),
                store.destroyed(),
                store.nextSettings(),
                store.keys().resolve(Numbered.name(1)),
                store.limits().resolve(Numbered.name(1)),
                store.instances().resolve(Numbered.name(7)),
                store.instances().resolve(Numbered.name(7) + signed),
                store.instances().resolve(new ServiceNames.ServerEntry(7, 2).toString()),
                store.instances().resolve(new ServiceNames.ShardEntry(7, 1, 2) + signed),
                store.shardMap(3),
                store.instances().resolve(StoreLayout.shardMapName(new ShardMap(3, 4)) + signed),
                store.ceilings().resolve(new ServiceNames.CeilingName(7, -5, false) + signed),
                store.ceilings().resolve(new ServiceNames.CeilingName(7, 5, true) + signed),
                store.ceilings().resolve(new ServiceNames.WordsName(7, 5, sha) + signed),
                store.end(ID, 7, 0),
                store.revocation(ID, 7, 99),
                log.identity(),
                log.removed(),
                log.record(12),
                log.recordSeal(12, sha),
                log.intent(bucket.end(), ID),
                log.endIntent(ID),
                log.checkpoint(12),
                log.floor(3),
                log.segment(3),
                LogLayout.prelock(place),
                LogLayout.lock(place),
                LogLayout.dataFile(place, new DataFileName(new MachineName("m-1"), ID)),
                place.resolve(".nfs0000000012"),
                place.resolve("tmp-" + ID),
                ROOT.resolve("tmp-" + ID + "/tmp-create")));
    for (Name file : files) {
      assertTrue(isOwn(file, false), file.toString());
    }
    var directories = new ArrayList<>(store.directories());
    directories.addAll(List.of(store.ends(), store.revocations(), log.root(), log.buckets()));
    directories.addAll(List.of(log.era(bucket), log.group(bucket), place, log.horizon()));
    directories.addAll(List.of(log.records(), log.recordGroup(0), log.intents()));
    directories.addAll(List.of(log.checkpoints(), log.segments()));
    directories.add(store.clock().resolve("tmp-" + ID));
    for (Name directory : directories) {
      assertTrue(isOwn(directory, true), directory.toString());
      for (String notes : List.of("notes.txt", "1", "lock~", "README", "x.log", "Tmp-" + ID)) {
        assertFalse(isOwn(directory.resolve(notes), false), directory + "/" + notes);
      }
    }
  }

  @Test
  void nothingElse() {
    for (String file :
        List.of(
            "notes",
            "lock",
            "tmp-results.csv",
            "keys/id_ed25519",
            "keys/0000000001.bak",
            "logs/notes",
            "logs/jobs/0000000001",
            "logs/jobs/lock",
            "logs/jobs/segments/0000000001.part",
            "logs/jobs/horizon/records/0000000001",
            "logs/tmp-x/identity",
            "service/0000000001",
            "clock/now")) {
      assertFalse(OwnPaths.has(file, false), file);
    }
    for (String directory :
        List.of("", "tmp-results", "home", "logs/tmp-x", "keys/old", "logs/A")) {
      assertFalse(OwnPaths.has(directory, true), directory);
    }
  }
}
