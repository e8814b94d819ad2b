package dev.cinch.view;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Removal;
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.TableLayout;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.lease.Id;
import dev.cinch.lease.Share;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.sql.DuckDbEngine;
import dev.cinch.view.SqlEngine.Limits;
import dev.cinch.view.SqlEngine.Source;
import dev.cinch.view.TableBuilder.Result;
import dev.cinch.view.TableBuilder.Settings;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever builders do at once, a table has each settled message once, for readers of any kind. */
@SuppressWarnings("NullAway.Init")
class TableBuilderTest {
  private static final String PLAIN =
      "epoch_us(time), time_ns, tie, machine, coalesce(payload, bytes::VARCHAR)";

  @TempDir Path temp;

  private int copies;

  private static final TableShape ALL = new TableShape(List.of(), null);
  private static final TableShape LATEST = new TableShape(List.of(), "$.key");

  private TableBuilder builder(Rig rig, StoreFs fs, long bytes) throws IOException {
    return builder(rig, fs, bytes, 1);
  }

  private TableBuilder builder(Rig rig, StoreFs fs, long bytes, int workers) throws IOException {
    Store store = Store.open(rig.root, rig.environment(fs, rig.time));
    var settings =
        new Settings(new DuckDbEngine(), 1 << 28, temp, bytes, workers, (m, file, why) -> {});
    return new TableBuilder(store, store.log(Rig.JOBS), settings);
  }

  private TableBuilder builder(Rig rig) throws IOException {
    return builder(rig, rig.disk.view(Rig.BOB), Long.MAX_VALUE);
  }

  private static Log open(Rig rig) throws IOException {
    return rig.open(rig.disk.view(Rig.ALICE));
  }

  /** Messages in several buckets, all of them settled. */
  private static void write(Rig rig, int messages) throws Exception {
    var random = new Random(messages);
    for (int i = 0; i < messages; i++) {
      try (var writer = open(rig).writer(Durability.CLOSE)) {
        String text = "{\"n\": %d, \"price\": %s}".formatted(i, i % 3 == 0 ? "\"?\"" : i + ".5");
        assertTrue(writer.append(text.getBytes(UTF_8)) instanceof Receipt.Committed);
      }
      rig.time.advanceMs(random.nextInt(3) * 3_000L);
    }
    rig.settle(open(rig));
  }

  private static List<String> expected(Rig rig) throws IOException {
    var lines = new ArrayList<String>();
    open(rig)
        .reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> lines.add(line(m)),
            (m, file, why) -> lines.add("?"));
    return lines;
  }

  private static String line(Message m) {
    return Math.floorDiv(m.timestamp(), 1000)
        + " "
        + m.timestamp()
        + " 0 "
        + m.file().machine()
        + " "
        + new String(m.payload(), UTF_8);
  }

  /** The table's directory as it stands, where other engines can read it. */
  private Path copy(Rig rig) throws IOException {
    return copy(rig, ALL);
  }

  private Path copy(Rig rig, TableShape shape) throws IOException {
    Path to = Files.createDirectory(temp.resolve("copy-" + copies++));
    StoreFs fs = rig.disk.view(Rig.ALICE);
    LogLayout layout = open(rig).context().layout();
    copy(fs, (shape == ALL ? layout.table() : layout.latest()).root().path(), to);
    return to;
  }

  private static void copy(StoreFs fs, Path from, Path to) throws IOException {
    for (String name : fs.list(from)) {
      Path file = from.resolve(name);
      if (name.startsWith("tmp-")) {
        continue; // of one that ended there
      }
      if (name.equals("_delta_log")) {
        copy(fs, file, Files.createDirectory(to.resolve(name)));
      } else {
        try (StoreFile in = fs.read(file)) {
          ByteBuffer bytes = ByteBuffer.allocate((int) in.size());
          while (bytes.hasRemaining() && in.read(bytes, bytes.position()) >= 0) {}
          Files.write(to.resolve(name), bytes.array());
        }
      }
    }
  }

  private void check(Rig rig) throws Exception {
    check(rig, ALL);
  }

  private void check(Rig rig, TableShape shape) throws Exception {
    List<String> lines = shape == ALL ? expected(rig) : latest(rig);
    assertEquals(lines, OtherEngines.duckDb(copy(rig, shape), PLAIN));
  }

  /** Messages of a few keys; some of them take theirs out, and some have none. */
  private static void writeKeys(Rig rig, Random random, int messages) throws Exception {
    for (int i = 0; i < messages; i++) {
      String key = "{\"key\": \"k" + random.nextInt(4) + '"';
      String text =
          switch (random.nextInt(6)) {
            case 0 -> key + "}";
            case 1 -> key + ", \"n\": null, \"m\": null}";
            case 2 -> random.nextBoolean() ? "no JSON" : "{\"n\": 1}";
            default -> key + ", \"n\": %d, \"m\": null}".formatted(i);
          };
      try (var writer = open(rig).writer(Durability.CLOSE)) {
        assertTrue(writer.append(text.getBytes(UTF_8)) instanceof Receipt.Committed);
      }
      rig.time.advanceMs(random.nextInt(3) * 3_000L);
    }
    rig.settle(open(rig));
  }

  private static List<String> latest(Rig rig) throws IOException {
    var latest = new HashMap<String, String>();
    for (String line : expected(rig)) {
      int at = line.indexOf("{\"key\": \"");
      if (at >= 0) {
        String key = line.substring(at + 9, at + 11);
        if (line.contains("\"n\": ") && !line.contains("\"n\": null")) {
          latest.put(key, line);
        } else {
          latest.remove(key);
        }
      }
    }
    return latest.values().stream().sorted().toList();
  }

  /** Whatever was written between two builds, and however the first one ended. */
  @Test
  void aTableHasTheLastMessageOfEachKey() throws Exception {
    for (int seed = 0; seed < 4; seed++) {
      Rig rig = Rig.memory(20 + seed);
      var random = new Random(seed);
      for (int round = 0; round < 4; round++) {
        writeKeys(rig, random, 2 + random.nextInt(8));
        Result unused = run(builder(rig, rig.disk.view(Rig.BOB), 500), LATEST);
        check(rig, LATEST);
        assertTrue(state(rig, LATEST).files().size() < 2);
        assertEquals(0, run(builder(rig), LATEST).files());
      }
      assertEquals(
          latest(rig), OtherEngines.deltaKernel(copy(rig, LATEST)).stream().sorted().toList());
      var other = new TableShape(List.of(), "$.other");
      assertThrows(IllegalArgumentException.class, () -> run(builder(rig), other));
      assertEquals(List.of(), rig.damage(rig.disk.view(Rig.ALICE)));
    }
    assertThrows(IllegalArgumentException.class, () -> new TableShape(List.of(), "key"));
  }

  @Test
  void othersReadEachMessageOnce() throws Exception {
    Rig rig = Rig.memory(1);
    write(rig, 40);
    Result first = builder(rig, rig.disk.view(Rig.BOB), 200).run(ALL, Duration.ZERO);
    assertEquals(40, first.messages());
    assertTrue(first.files() > 3, "" + first);
    write(rig, 10);
    Result second = builder(rig).run(ALL, Duration.ZERO);
    assertEquals(List.of(1, 10L), List.of(second.files(), second.messages()));
    assertEquals(0, builder(rig).run(ALL, Duration.ZERO).files());
    Path copy = copy(rig);
    assertEquals(expected(rig), OtherEngines.duckDb(copy, PLAIN));
    assertEquals(expected(rig), OtherEngines.deltaKernel(copy));
    assertEquals(List.of(), rig.damage(rig.disk.view(Rig.ALICE)));
  }

  /** However many write files at once: one order, and no time in two files. */
  @Test
  void filesAreWrittenSideBySide() throws Exception {
    Rig rig = Rig.memory(11);
    for (int i = 0; i < 6; i++) {
      write(rig, 12);
    }
    long all = expected(rig).size();
    var parts = open(rig).reader().parts(Long.MIN_VALUE, 300);
    assertEquals(all, parts.messages());
    assertEquals(List.copyOf(new TreeSet<>(parts.ends())), parts.ends());
    TableBuilder builder = builder(rig, rig.disk.view(Rig.BOB), 300, 3);
    Result result = run(builder);
    assertEquals(List.of(all, all), List.of(result.messages(), builder.progress()));
    assertTrue(result.files() > 5, "" + result);
    check(rig);
    long last = Long.MIN_VALUE;
    for (DeltaLog.File file : state(rig, ALL).files().values()) {
      assertTrue(file.first() > last, "" + file);
      last = file.last();
    }
    write(rig, 5);
    assertEquals(5, open(rig).reader().parts(result.to(), 1).messages());
    assertEquals(5, run(builder).messages());
    assertEquals(List.of(), open(rig).reader().parts(state(rig, ALL).through(), 1).ends());
    check(rig);
  }

  /**
   * Another one runs whole before each operation of a builder; and each operation fails, or ends
   * it.
   */
  @Test
  @Tag("share")
  void whateverHappensBetweenAnyTwoOperations() throws Exception {
    for (TableShape shape : List.of(ALL, LATEST)) {
      Rig counted = rig(shape);
      var counting = new FaultyFs(counted.disk.view(Rig.BOB));
      assertTrue(run(builder(counted, counting, 100), shape).messages() > 0);
      List<FaultyFs.Op> table =
          counting.trace().stream().filter(TableBuilderTest::ofTable).toList();
      assertTrue(table.size() > 30, "" + table);
      // Two at once: their operations come in any order, which changes nothing.
      for (int k = Share.first(5); k < table.size(); k += Share.step(5)) {
        runsBetween(shape, k, 1 + k % 2);
        endsAt(shape, k + 1, 1 + k % 2);
      }
    }
  }

  private static Rig rig(TableShape shape) throws Exception {
    Rig rig = Rig.memory(2);
    for (int i = 0; i < 3; i++) {
      if (shape == ALL) {
        write(rig, 2);
      } else {
        writeKeys(rig, new Random(2), 4);
      }
    }
    return rig;
  }

  private void runsBetween(TableShape shape, int operation, int workers) throws Exception {
    Rig rig = rig(shape);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    var left = new AtomicInteger(operation);
    var ran = new AtomicBoolean();
    faulty.before(
        op -> {
          if (ofTable(op) && left.getAndDecrement() == 0) {
            ran.set(true);
            Result unused = run(builder(rig), shape);
          }
        });
    Result unused = run(builder(rig, faulty, 100, workers), shape);
    assertTrue(ran.get() || workers > 1);
    check(rig, shape);
    assertNothingIsLeft(rig, shape);
  }

  private void endsAt(TableShape shape, int operation, int workers) throws Exception {
    Rig rig = rig(shape);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Fault fault = operation / 2 % 2 == 0 ? Fault.CRASH_BEFORE : Fault.CRASH_AFTER;
    faulty.arm(operation, fault, TableBuilderTest::ofTable);
    try {
      Result unused = run(builder(rig, faulty, 100, workers), shape);
    } catch (FaultyFs.Crash e) {
      // It ended there.
    }
    assertTrue(faulty.fired() || workers > 1);
    Result rest = run(builder(rig), shape);
    check(rig, shape);
    assertEquals(0, run(builder(rig), shape).files(), "" + rest);
  }

  private static boolean ofTable(FaultyFs.Op op) {
    return op.path().toString().matches(".*/(table|latest)(/.*)?");
  }

  private static DeltaLog.State state(Rig rig, TableShape shape) throws IOException {
    LogLayout layout = open(rig).context().layout();
    TableLayout table = shape.key() == null ? layout.table() : layout.latest();
    return new DeltaLog(open(rig).context(), table).read();
  }

  private static Result run(TableBuilder builder) throws IOException {
    return run(builder, ALL);
  }

  private static Result run(TableBuilder builder, TableShape shape) throws IOException {
    return builder.run(shape, Duration.ZERO);
  }

  /** Files of those that were too late are gone. */
  private static void assertNothingIsLeft(Rig rig, TableShape shape) throws IOException {
    LogLayout layout = open(rig).context().layout();
    TableLayout table = shape == ALL ? layout.table() : layout.latest();
    var there = new TreeSet<>(rig.disk.view(Rig.ALICE).list(table.root().path()));
    there.remove("_delta_log");
    there.removeIf(name -> name.startsWith("tmp-"));
    var known = new TreeSet<>(state(rig, shape).files().keySet());
    known.addAll(state(rig, shape).removed().keySet()); // for readers of before
    assertEquals(known, there);
  }

  @Test
  void whatExpiredIsRemovedFirstAndDeletedLater() throws Exception {
    Rig rig = Rig.memory(3);
    write(rig, 5);
    assertEquals(5, run(builder(rig)).messages());
    Set<String> old = new HashSet<>(Set.copyOf(state(rig, ALL).files().keySet()));
    Aggregator.Result unused = new Aggregator(open(rig)).run();
    rig.time.advanceMs(Duration.ofDays(40).toMillis());
    write(rig, 4);
    Aggregator.Result more = new Aggregator(open(rig)).run();
    new Retention(open(rig), Duration.ZERO).run();
    assertTrue(new Expiry(open(rig), Duration.ofDays(1)).run(path -> {}).before() > Long.MIN_VALUE);
    assertEquals(Set.of(), state(rig, ALL).files().keySet()); // before the segments went
    assertEquals(List.of(), OtherEngines.duckDb(copy(rig), PLAIN));
    Result result = run(builder(rig));
    assertEquals(List.of(0, 4L), List.of(result.removed(), result.messages()), "" + more);
    check(rig);
    Path table = open(rig).context().layout().table().root().path();
    assertTrue(rig.disk.view(Rig.ALICE).list(table).containsAll(old)); // for readers of before
    rig.time.advanceMs(Duration.ofDays(8).toMillis());
    assertEquals(old.size(), new Retention(open(rig), Duration.ZERO).plan().stale());
    assertEquals(old.size(), new Retention(open(rig), Duration.ZERO).run().stale());
    old.retainAll(rig.disk.view(Rig.ALICE).list(table));
    assertEquals(Set.of(), old);
    check(rig);
  }

  @Test
  void keysGoWithMessagesThatExpired() throws Exception {
    Rig rig = Rig.memory(13);
    writeKey(rig, "a");
    Aggregator.Result unused = new Aggregator(open(rig)).run();
    rig.time.advanceMs(Duration.ofDays(40).toMillis());
    writeKey(rig, "b");
    unused = new Aggregator(open(rig)).run();
    assertEquals(2, run(builder(rig), LATEST).messages());
    new Retention(open(rig), Duration.ZERO).run();
    assertTrue(new Expiry(open(rig), Duration.ofDays(1)).run(path -> {}).before() > Long.MIN_VALUE);
    writeKey(rig, "c");
    assertEquals(2, run(builder(rig), LATEST).messages());
    assertEquals(List.of("b", "c"), OtherEngines.duckDb(copy(rig, LATEST), "key"));
  }

  private static void writeKey(Rig rig, String key) throws Exception {
    try (var writer = open(rig).writer(Durability.CLOSE)) {
      byte[] text = "{\"key\": \"%s\", \"n\": 1}".formatted(key).getBytes(UTF_8);
      assertTrue(writer.append(text) instanceof Receipt.Committed);
    }
    rig.time.advanceMs(3_000);
    rig.settle(open(rig));
  }

  @Test
  void aRemovedLogsTableGoesWithItsOtherFiles() throws Exception {
    Rig rig = Rig.memory(7);
    write(rig, 3);
    assertEquals(3, run(builder(rig)).messages());
    Log log = open(rig);
    HorizonChain.Link last = log.horizon().end();
    Tables.empty(log);
    assertEquals(List.of(), OtherEngines.duckDb(copy(rig), PLAIN)); // empty, and not broken
    assertEquals(0, run(builder(rig)).files());
    assertTrue(TableFiles.of(log, false).isEmpty()); // until it is removed the log itself is read
    Removal removal = new RemovedLogs(log.context().store()).bury(log.context());
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    assertTrue(
        new RemovedLogFiles(store).delete(Rig.JOBS, true, path -> {}) > 2, removal + " " + last);
    Path table = log.context().layout().table().root().path();
    assertThrows(NoSuchFileException.class, () -> rig.disk.view(Rig.ALICE).list(table));
  }

  /** However many commits there are: what they say, from a bounded number of them. */
  @Test
  void commitsAreSummedUp() throws Exception {
    Rig rig = Rig.memory(12);
    Log log = open(rig);
    TableLayout table = log.context().layout().table();
    log.context().storage().prepare(table.root());
    log.context().storage().prepare(table.commits());
    var commits = new DeltaLog(log.context(), table);
    var shape = new TableShape(List.of(TableColumn.parse("n=$.n:long")), null);
    DeltaLog.State now = commits.read();
    var random = new Random(12);
    for (int i = 0; i < 2 * DeltaLog.SUMMED + 40; i++) {
      var files = List.copyOf(now.files().values());
      List<DeltaLog.File> old = random.nextInt(3) == 0 && i > 0 ? files.subList(0, 1) : List.of();
      Id id = Id.random(log.context().store().random());
      var file = new DeltaLog.File(table.file(i, id).last(), i, 2 * i + 1, i - 5, i + 5);
      now = commits.commit(now, shape, i % 7 == 3 ? null : file, old, i - 1).orElseThrow();
      if (i % 97 == 0 || i % DeltaLog.SUMMED < 2) {
        assertEquals(now, commits.read());
        rig.time.advanceMs(Duration.ofHours(1).toMillis());
      }
    }
    var counting = new FaultyFs(rig.disk.view(Rig.BOB));
    assertEquals(now, new DeltaLog(rig.open(counting).context(), table).read());
    long reads =
        counting.trace().stream().filter(op -> op.path().toString().endsWith(".json")).count();
    assertTrue(reads < 4 * 45, reads + " operations");
    rig.time.advanceMs(Duration.ofDays(9).toMillis());
    assertEquals(now, commits.read());
    while (now.version() % DeltaLog.SUMMED != 0) {
      now = commits.commit(now, shape, null, List.of(), now.through()).orElseThrow();
    }
    assertEquals(now.files(), commits.read().files());
    assertEquals(Map.of(), commits.read().removed()); // these go as what no commit names
  }

  /** Others read a commit with a sum as any other; and a sum names no file of another place. */
  @Test
  void aSumIsNothingToOthersAndHasFilesOfTheTableAlone() throws Exception {
    Rig rig = Rig.memory(14);
    write(rig, 3);
    Result first = run(builder(rig));
    var commits = new DeltaLog(open(rig).context(), open(rig).context().layout().table());
    DeltaLog.State now = commits.read();
    while (now.version() < DeltaLog.SUMMED - 1) {
      now = commits.commit(now, now.shape(), null, List.of(), now.through()).orElseThrow();
    }
    write(rig, 2);
    assertEquals(DeltaLog.SUMMED, run(builder(rig)).version());
    write(rig, 2);
    assertEquals(2, run(builder(rig)).messages());
    check(rig);
    assertEquals(expected(rig), OtherEngines.deltaKernel(copy(rig)), "" + first);
    Path commit = open(rig).context().layout().table().commit(DeltaLog.SUMMED).path();
    StoreFs fs = rig.disk.view(Rig.BOB);
    String text = new String(rig.disk.content(commit), UTF_8);
    assertTrue(text.contains("cinchSum"), text);
    fs.unlink(commit);
    try (StoreFile file = fs.create(commit, 0644)) {
      file.write(ByteBuffer.wrap(text.replaceFirst("0{20}-", "../$0").getBytes(UTF_8)));
    }
    assertThrows(DamagedException.class, commits::read);
  }

  @Test
  void columnsOutOfPayloads() throws Exception {
    Rig rig = Rig.memory(4);
    write(rig, 9);
    var columns =
        List.of(TableColumn.parse("price=$.price:double"), TableColumn.parse("n=$.n:long"));
    Result result = builder(rig).run(new TableShape(columns, null), Duration.ZERO);
    assertEquals(3, result.unparsed());
    write(rig, 2);
    assertEquals(1, run(builder(rig)).unparsed()); // the table keeps them
    assertThrows(
        IllegalArgumentException.class,
        () -> builder(rig).run(new TableShape(columns.subList(0, 1), null), Duration.ZERO));
    assertEquals(
        List.of("0", "1.5 1", "2.5 2", "3", "4.5 4", "5.5 5", "6", "7.5 7", "8.5 8", "0", "1.5 1"),
        OtherEngines.duckDb(copy(rig), "price, n"));
    for (String wrong :
        List.of("price", "a=b:double", "time=$.t:long", "a=$.b:int", "a=$.'b:long")) {
      assertThrows(IllegalArgumentException.class, () -> TableColumn.parse(wrong), wrong);
    }
  }

  @Test
  void aCommitThatIsMissingOrNoJsonIsTold() throws Exception {
    Rig rig = Rig.memory(5);
    write(rig, 3);
    assertEquals(0, run(builder(rig)).version());
    write(rig, 2);
    assertEquals(1, run(builder(rig)).version());
    LogLayout layout = open(rig).context().layout();
    StoreFs fs = rig.disk.view(Rig.BOB);
    // What is not ours is left alone.
    fs.create(layout.table().root().path().resolve("notes.txt"), 0644).close();
    fs.create(layout.table().commits().path().resolve("00000000000000000001.crc"), 0644).close();
    write(rig, 1);
    assertEquals(2, run(builder(rig)).version());
    assertTrue(fs.list(layout.table().root().path()).contains("notes.txt"));
    fs.unlink(layout.table().commit(1).path());
    DamagedException e = assertThrows(DamagedException.class, () -> run(builder(rig)));
    assertTrue(("" + e.getMessage()).contains("commit 1, which others follow"), e.getMessage());
    try (StoreFile file = fs.create(layout.table().commit(1).path(), 0644)) {
      file.write(ByteBuffer.wrap("no JSON".getBytes(UTF_8)));
    }
    assertThrows(DamagedException.class, () -> run(builder(rig)));
    assertFalse(fs.list(layout.table().root().path()).isEmpty());
  }

  /** What a statement finds in a log is the same with a table of its beginning. */
  @Test
  void statementsReadTablesAsFarAsTheseGo() throws Exception {
    Rig rig = Rig.at(temp.resolve("store"), 6);
    StoreFs fs = new ClockedFs(new PosixFs(null, null), rig.time);
    Log log = rig.make(fs, StoreSettings.DEFAULT);
    for (int i = 0; i < 3; i++) {
      append(rig, fs, 7);
      if (i < 2) {
        TableBuilder builder = builder(rig, fs, 150);
        var columns = List.of(TableColumn.parse("n=$.n:long"));
        assertEquals(7, builder.run(new TableShape(columns, null), Duration.ZERO).messages());
      }
    }
    var all = new ArrayList<String>();
    long settled =
        log.reader()
            .settled(Long.MIN_VALUE, Long.MAX_VALUE, m -> all.add(line(m)), (m, file, why) -> {});
    assertEquals(21, all.size());
    Store store = Store.open(rig.root, rig.environment(fs, rig.time));
    String lines =
        "SELECT concat_ws(' ', epoch_us(time), time_ns, tie, machine, decode(bytes)) FROM jobs";
    long early = Long.parseLong(all.get(3).split(" ")[1]);
    long late = Long.parseLong(all.get(17).split(" ")[1]);
    for (boolean within : List.of(false, true)) {
      var source =
          new Source(
              store,
              List.of(Rig.JOBS),
              within ? early : Long.MIN_VALUE,
              within ? late : settled,
              false,
              true,
              (m, file, why) -> {});
      var limits = new Limits(1 << 28, temp.resolve("spill"), List.of(), 2);
      try (var session = new DuckDbEngine().open(source, limits)) {
        assertEquals(within ? all.subList(3, 17) : all, column(session, lines));
        assertEquals(7 - (within ? 4 : 0), session.read()); // the others are the table's
        List<String> some = column(session, lines + " WHERE time_ns > " + early);
        assertEquals(within ? all.subList(4, 17) : all.subList(4, 21), some);
        assertEquals(
            List.of(within ? "14" : "21"),
            column(session, "SELECT count(n) FROM jobs WHERE n < 7"));
        assertThrows(
            SqlEngine.StatementException.class,
            () -> column(session, "SELECT * FROM read_text('%s/*')".formatted(rig.root)));
        assertTrue(column(session, "EXPLAIN ANALYZE " + lines).get(0).length() > 0);
        assertEquals(7 - (within ? 4 : 0), session.read());
        if (within) { // anybody may remove the table, also while a session goes on
          Path table = log.context().layout().table().root().path();
          for (String name : fs.list(table)) {
            Files.move(table.resolve(name), temp.resolve(name));
          }
          assertEquals(all.subList(3, 17), column(session, lines));
        }
      }
    }
  }

  /** The engine reaches no table in another storage; the log gives the same columns. */
  @Test
  void statementsHaveTheColumnsOfATableThatTheEngineDoesNotReach() throws Exception {
    var time = ManualTime.ticking();
    var environment = Store.Environment.of(new MachineName("m1"), time);
    Store store = Store.open(URI.create("mem:TableBuilderTest"), environment);
    Log log = store.createLog(Rig.JOBS);
    try (var writer = log.writer(Durability.CLOSE)) {
      for (int i = 0; i < 5; i++) {
        String text = "{\"n\": %d}".formatted(i);
        assertTrue(writer.append(text.getBytes(UTF_8)) instanceof Receipt.Committed);
      }
    }
    time.advanceMs(60_000);
    log.horizon().advance(log.horizon().reachable(), OptionalLong.of(time.wallNanos()));
    var settings =
        new Settings(new DuckDbEngine(), 1 << 28, temp, Long.MAX_VALUE, 1, (m, file, why) -> {});
    var shape = new TableShape(List.of(TableColumn.parse("n=$.n:long")), null);
    assertEquals(5, new TableBuilder(store, log, settings).run(shape, Duration.ZERO).messages());
    var source =
        new Source(
            store,
            List.of(Rig.JOBS),
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            false,
            true,
            (m, file, why) -> {});
    var limits = new Limits(1 << 28, temp.resolve("spill"), List.of(), 2);
    try (var session = new DuckDbEngine().open(source, limits)) {
      assertEquals(List.of("10"), column(session, "SELECT sum(n) FROM jobs"));
      assertEquals(List.of("2"), column(session, "SELECT count(*) FROM jobs WHERE n >= 3"));
    }
  }

  private static void append(Rig rig, StoreFs fs, int messages) throws Exception {
    try (var writer = rig.open(fs).writer(Durability.CLOSE)) {
      for (int i = 0; i < messages; i++) {
        String text = "{\"n\": %d}".formatted(i);
        assertTrue(writer.append(text.getBytes(UTF_8)) instanceof Receipt.Committed);
        rig.time.advanceMs(2_000);
      }
    }
    rig.settle(rig.open(fs));
  }

  private static List<String> column(SqlEngine.Session session, String statement)
      throws IOException {
    var values = new ArrayList<String>();
    try (SqlEngine.Answer answer = session.run(statement)) {
      while (answer.next()) {
        values.add("" + answer.value(0));
      }
    }
    return values;
  }
}
