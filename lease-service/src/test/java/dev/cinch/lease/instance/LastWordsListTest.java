package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.rules.LastWords;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.States;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Rule L19: what last words list, and which are passed over. */
final class LastWordsListTest {
  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final Rig first = new Rig(time, new FakeRegistry(store));

  private Rig next() {
    return next(TableLimits.DEFAULT);
  }

  private Rig next(TableLimits limits) {
    return new Rig(time, new FakeRegistry(store), false, limits);
  }

  private static void end(Rig rig) throws IOException {
    assertTrue(rig.service.end());
    assertTrue(rig.service.leaveLastWords().join());
  }

  /** By a request of the one source of ids. */
  private Grant acquired(Rig at, String name)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.acquire(first.request(name));
  }

  @Test
  void l19_anInstanceThatAnotherTookOverFromLeavesNone() throws Exception {
    Grant unused = acquired(first, "a");
    Rig second = next();
    time.advanceMs(60_000);
    unused = acquired(second, "b");
    refused(Reason.SUPERSEDED, () -> acquired(first, "c"));
    assertTrue(first.service.end());
    assertFalse(first.service.leaveLastWords().join());
  }

  /** There would be no room for what others want. */
  @Test
  void l19_moreThanTheNextInstanceHasRoomForIsAsIfItWereNotThere() throws Exception {
    Grant unused = acquired(first, "a");
    unused = acquired(first, "b");
    end(first);
    var small = new TableLimits(2, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0);
    Rig second = next(small);
    refused(Reason.NOT_YET, () -> acquired(second, "a"));
  }

  @Test
  void l19_aListOfOneNameTwiceOrOfWhatNobodyLeftIsAsIfItWereNotThere() throws Exception {
    Grant unused = acquired(first, "a");
    end(first);
    LeaseState left = LastWords.decode(store.lastWords.get(1L)).orElseThrow().leases().get(0);
    var draft = new LastWords.Draft();
    assertTrue(draft.add(left));
    assertTrue(LastWords.decode(draft.finish(0, 0, 0)).isPresent());
    assertTrue(draft.add(left));
    assertTrue(LastWords.decode(draft.finish(0, 0, 0)).isEmpty());
    var held = new LastWords.Draft();
    assertTrue(held.add(States.full("b")));
    assertTrue(LastWords.decode(held.finish(0, 0, 0)).isEmpty());
  }

  @Test
  void l19_anInstanceWhoseListWouldBeTooLongLeavesNone() throws Exception {
    var logs = new ArrayList<Id>();
    for (int i = 0; i < Witness.MAX_LOGS; i++) {
      logs.add(new Id(1, i));
    }
    LogSet all = LogSet.of(logs);
    long each = Witness.MAX_LOGS * (long) Id.BYTES;
    for (long listed = 0; listed <= InstanceRegistry.MAX_LAST_WORDS; listed += each) {
      Operation.Acquire r = first.request("name-" + listed);
      Grant unused =
          first.service.acquire(
              new Operation.Acquire(r.id(), r.names(), r.holder(), LEASE_MS, all, false));
    }
    assertTrue(first.service.end());
    assertFalse(first.service.leaveLastWords().join());
  }

  @Test
  void l19_theyHoldNoSecret() throws Exception {
    Operation.Acquire request = first.request("a");
    Grant unused = first.service.acquire(request);
    end(first);
    byte[] words = store.lastWords.get(1L);
    for (LeaseState lease : LastWords.decode(words).orElseThrow().leases()) {
      assertEquals(lease.correlation(), lease.id());
    }
    ByteBuffer secret = ByteBuffer.allocate(Id.BYTES);
    request.id().write(secret);
    assertFalse(latin1(words).contains(latin1(secret.array())));
  }

  private static String latin1(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  @Test
  void l19_whatCanNotBeReadIsAsIfItWereNotThere() throws Exception {
    Grant unused = acquired(first, "a");
    end(first);
    byte[] words = store.lastWords.get(1L);
    for (int length = 0; length < words.length; length++) {
      Optional<LastWords> cut = LastWords.decode(Arrays.copyOf(words, length));
      assertTrue(cut.isEmpty() || cut.get().leases().isEmpty(), length + " bytes");
    }
    store.lastWords.put(1L, Arrays.copyOf(words, words.length - 1));
    Rig second = next();
    refused(Reason.NOT_YET, () -> acquired(second, "b"));
  }

  @Test
  void l19_noMoreLeasesAreListedThanThereIsRoomFor() throws Exception {
    var draft = new LastWords.Draft();
    int listed = 0;
    Grant unused = acquired(first, "a");
    end(first);
    LeaseState lease = LastWords.decode(store.lastWords.get(1L)).orElseThrow().leases().get(0);
    while (draft.add(lease)) {
      listed++;
    }
    assertTrue(listed > 50_000, listed + " leases");
    assertTrue(draft.finish(0, 0, 0).length <= InstanceRegistry.MAX_LAST_WORDS);
  }
}
