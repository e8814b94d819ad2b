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
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.lease.Share;
import dev.cinch.sql.DuckDbEngine;
import dev.cinch.view.SqlEngine.Answer;
import dev.cinch.view.SqlEngine.Limits;
import dev.cinch.view.SqlEngine.Prompt;
import dev.cinch.view.SqlEngine.Session;
import dev.cinch.view.SqlEngine.Source;
import dev.cinch.view.SqlEngine.StatementException;
import dev.cinch.view.TableBuilder.Result;
import dev.cinch.view.TableBuilder.Settings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever others write into a table's directory, and wherever there is no room, is told. */
@SuppressWarnings("NullAway.Init")
class HostileTableTest {
  private static final TableShape ALL = new TableShape(List.of(), null);
  private static final int FILES = 100; // bytes of payload in each: several files in a run

  @TempDir Path temp;

  private static StoreFs fs(Rig rig) {
    return rig.disk.view(Rig.BOB);
  }

  private TableBuilder builder(Rig rig, StoreFs fs, SqlEngine engine) throws IOException {
    return builder(rig, fs, engine, FILES);
  }

  private TableBuilder builder(Rig rig, StoreFs fs, SqlEngine engine, long bytes)
      throws IOException {
    Store store = Store.open(rig.root, rig.environment(fs, rig.time));
    Path scratch = Files.createDirectories(temp.resolve("scratch"));
    var settings = new Settings(engine, 1 << 28, scratch, bytes, 1, (m, file, why) -> {});
    return new TableBuilder(store, store.log(Rig.JOBS), settings);
  }

  private Result run(Rig rig, StoreFs fs) throws IOException {
    return builder(rig, fs, new DuckDbEngine()).run(ALL, Duration.ZERO);
  }

  private Result run(Rig rig) throws IOException {
    return run(rig, fs(rig));
  }

  private static void write(Rig rig, StoreFs fs, int messages) throws Exception {
    for (int i = 0; i < messages; i++) {
      try (var writer = rig.open(fs).writer(Durability.CLOSE)) {
        String text = "{\"n\": %d, \"text\": \"%s\"}".formatted(i, "x".repeat(20));
        assertTrue(writer.append(text.getBytes(UTF_8)) instanceof Receipt.Committed);
      }
      rig.time.advanceMs(3_000);
    }
    rig.settle(rig.open(fs));
  }

  private static void write(Rig rig, int messages) throws Exception {
    write(rig, fs(rig), messages);
  }

  private static LogLayout layout(Rig rig) throws IOException {
    return rig.open(fs(rig)).context().layout();
  }

  private static void put(Rig rig, Path path, String text) throws IOException {
    try (StoreFile file = fs(rig).create(path, 0644)) {
      file.write(ByteBuffer.wrap(text.getBytes(UTF_8)));
    }
  }

  private static String text(Rig rig, Name name) throws IOException {
    return new String(rig.disk.content(name.path()), UTF_8);
  }

  private static DeltaLog.State state(Rig rig) throws IOException {
    return new DeltaLog(rig.open(fs(rig)).context(), layout(rig).table()).read();
  }

  /** All that is settled is in the files that the commits name, once; these are whole. */
  private void check(Rig rig, String what) throws Exception {
    Path copy = Files.createTempDirectory(temp, "copy");
    DeltaLog.State now = state(rig);
    var lines = new ArrayList<String>();
    for (DeltaLog.File file : now.files().values()) {
      byte[] bytes = rig.disk.content(layout(rig).table().root().resolve(file.name()).path());
      assertEquals(file.size(), bytes.length, what);
      Files.write(copy.resolve(file.name()), bytes);
    }
    Path commits = Files.createDirectory(copy.resolve("_delta_log"));
    for (long version = 0; version <= now.version(); version++) {
      Name name = layout(rig).table().commit(version);
      Files.write(commits.resolve(name.last()), rig.disk.content(name.path()));
    }
    Log log = rig.open(fs(rig));
    long unused =
        log.reader()
            .settled(
                Long.MIN_VALUE,
                Long.MAX_VALUE,
                m -> lines.add(m.timestamp() + " " + new String(m.payload(), UTF_8)),
                (m, file, why) -> {});
    assertEquals(lines, OtherEngines.duckDb(copy, "time_ns, payload"), what);
  }

  private static boolean ofTable(FaultyFs.Op op) {
    return op.path().toString().contains("/table");
  }

  /** But for the files that certain listings and reads make and remove. */
  private static boolean changes(FaultyFs.Op op) {
    return ofTable(op)
        && !Name.isTemporary(op.path().getFileName().toString())
        && !Set.of(Kind.READ, Kind.READ_UNCACHED, Kind.STATUS, Kind.LIST, Kind.GET, Kind.CLOSE)
            .contains(op.kind());
  }

  private static final String OURS = "{\"txn\":{\"appId\":\"cinch-%s\",\"version\":5}}\n";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'add':{'path':'part-0.parquet','partitionValues':{},'size':1,'dataChange':true}}",
        "{'add':{'path':'day=1/part-0.parquet','partitionValues':{'day':'1'},'size':1}}",
        "{'add':{'path':'part%200.parquet','partitionValues':{},'size':1}}",
        "{'add':{'path':'/etc/passwd','partitionValues':{},'size':1}}",
        "{'add':{'path':'file:///etc/passwd','partitionValues':{},'size':1}}",
        "{'add':{'path':'s3://there/part-0.parquet','partitionValues':{},'size':1}}",
        "{'add':{'path':'../../pay/table/part-0.parquet','partitionValues':{},'size':1}}",
        "{'remove':{'path':'FILE','deletionTimestamp':1,'dataChange':true}}",
        "{'metaData':{'id':'1','schemaString':'{}','partitionColumns':[],'configuration':{}}}",
        // Of an earlier log of that name.
        "{'txn':{'appId':'cinch-00000000000000000000000000000001','version':5}}\n{'add':{'path':'FILE'}}",
        // As ours are, but for the place of a file.
        "TXN{'add':{'path':'/etc/passwd','size':1}}",
        "TXN{'add':{'path':'00000000000000000001-/../../x.parquet','size':1}}",
        "TXN{'add':{'path':'x/FILE','size':1}}",
        "TXN{'add':{'size':1}}",
        "TXN{'remove':{'path':'../FILE'}}",
        // Of a newer Cinch, or of Spark.
        "TXN{'protocol':{'minReaderVersion':1,'minWriterVersion':3}}",
        "{'protocol':{'minReaderVersion':2,'minWriterVersion':5}}",
        "{'protocol':{'minReaderVersion':3,'minWriterVersion':7,'readerFeatures':['deletionVectors'],'writerFeatures':['deletionVectors']}}",
        "TXN{'metaData':{'configuration':{'cinch.columns':'a=$.a:decimal'}}}",
        // No commit at all.
        "",
        "[]",
        "3",
        "{} {}",
        "{'commitInfo':{}}\n\n{'commitInfo':{}}"
      })
  void whatAnotherWriterCommitsIsRefused(String commit) throws Exception {
    Rig rig = Rig.memory(1);
    write(rig, 2);
    assertEquals(2, run(rig).messages());
    DeltaLog.State before = state(rig);
    write(rig, 2);
    Log log = rig.open(fs(rig));
    String file = before.files().keySet().iterator().next();
    put(
        rig,
        log.context().layout().table().commit(before.version() + 1).path(),
        commit.replace("TXN", OURS.formatted(log.id())).replace("FILE", file).replace('\'', '"'));
    var watched = new FaultyFs(fs(rig));
    DamagedException e = assertThrows(DamagedException.class, () -> run(rig, watched));
    String line = "" + e.getMessage();
    assertTrue(
        line.contains("%020d.json".formatted(before.version() + 1)) && !line.contains("\n"), line);
    assertEquals(
        List.of(), watched.trace().stream().filter(HostileTableTest::changes).toList(), commit);
    assertThrows(DamagedException.class, () -> TableFiles.of(log, false));
  }

  /** As other versions of Cinch may write, or an engine that changes nothing. */
  @Test
  void whatIsUnknownIsIgnored() throws Exception {
    Rig rig = Rig.memory(2);
    write(rig, 2);
    assertEquals(2, run(rig).messages());
    DeltaLog.State before = state(rig);
    Name first = layout(rig).table().commit(0);
    String text = text(rig, first);
    String more =
        text.replace("\"configuration\":{", "\"configuration\":{\"cinch.later\":\"1\",")
            .replace("\"add\":{", "\"add\":{\"tags\":{\"a\":\"b\"},\"baseRowId\":7,")
            .replace("\"txn\":{", "\"txn\":{\"more\":[1],")
            .replace("\"protocol\":{", "\"protocol\":{\"more\":null,");
    assertEquals(4, more.split("\"more\"|cinch.later|\"tags\"").length - 1, more);
    fs(rig).unlink(first.path());
    put(rig, first.path(), more + "{\"domainMetadata\":{\"domain\":\"x\"}}\n{\"later\":{}}\n");
    assertEquals(before, state(rig));
    put(
        rig,
        layout(rig).table().commit(before.version() + 1).path(),
        "{\"commitInfo\":{\"operation\":\"VACUUM START\"}}\n"
            + "{\"txn\":{\"appId\":\"stream\",\"version\":9}}");
    write(rig, 2);
    Result result = run(rig);
    assertEquals(2, result.messages());
    assertEquals(before.version() + 2, result.version());
    check(rig, more);
  }

  @Test
  void aGapIsToldWhereverItIs() throws Exception {
    Rig rig = Rig.memory(3);
    write(rig, 8);
    assertTrue(run(rig).version() >= 2);
    for (long version = 0; version < 2; version++) {
      Name commit = layout(rig).table().commit(version);
      byte[] bytes = rig.disk.content(commit.path());
      fs(rig).unlink(commit.path());
      var watched = new FaultyFs(fs(rig));
      var e = assertThrows(DamagedException.class, () -> run(rig, watched));
      assertTrue(("" + e.getMessage()).contains(commit + ""), e.getMessage());
      assertTrue(("" + e.getMessage()).contains("commit %d, which".formatted(version)));
      assertEquals(List.of(), watched.trace().stream().filter(HostileTableTest::changes).toList());
      put(rig, commit.path(), new String(bytes, UTF_8));
    }
    assertEquals(0, run(rig).files());
    check(rig, "");
  }

  /** What others left is neither read, nor removed, nor in the way. */
  @Test
  void foreignFilesStay() throws Exception {
    Rig rig = Rig.memory(4);
    write(rig, 2);
    assertEquals(2, run(rig).messages());
    Path table = layout(rig).table().root().path();
    Path commits = layout(rig).table().commits().path();
    var foreign = new ArrayList<Path>();
    for (String name : List.of("notes.txt", "part-0.parquet", "0".repeat(20) + "-copy.parquet")) {
      foreign.add(table.resolve(name));
    }
    String version = "0".repeat(19) + "1";
    for (String name :
        List.of(
            "_last_checkpoint",
            version + ".checkpoint.parquet",
            version + ".crc",
            version + ".json.tmp",
            "1.json",
            ".s3-optimization-0")) {
      foreign.add(commits.resolve(name));
    }
    for (Path path : foreign) {
      put(rig, path, "?");
    }
    fs(rig).mkdir(table.resolve("_change_data"), 0755);
    write(rig, 2);
    assertEquals(2, run(rig).messages());
    rig.time.advanceMs(Duration.ofDays(9).toMillis());
    write(rig, 2);
    assertEquals(2, run(rig).messages());
    check(rig, "");
    assertEquals(List.of(), rig.damage(fs(rig)));
    // They stay also where the log is removed; what is Cinch's goes.
    Log log = rig.open(fs(rig));
    HorizonChain.Link end = log.horizon().end();
    String removed = new RemovedLogs(log.context().store()).bury(log.context()) + " " + end;
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    Store store = Store.open(rig.root, rig.environment(fs(rig), rig.time));
    assertTrue(new RemovedLogFiles(store).delete(Rig.JOBS, true, path -> {}) > 2, removed);
    var left = new TreeSet<Path>();
    for (Path directory : List.of(table, commits)) {
      for (String name : fs(rig).list(directory)) {
        left.add(directory.resolve(name));
      }
    }
    assertTrue(left.remove(commits) && left.remove(table.resolve("_change_data")), "" + left);
    assertEquals(new TreeSet<>(foreign), left);
  }

  /** A builder without room names nothing, and the next one goes on. */
  @Test
  @Tag("share")
  void aFullDiskIsTold() throws Exception {
    int full = 0;
    for (int k = Share.first(4); k < 40; k += Share.step(4)) {
      Rig rig = Rig.memory(5);
      write(rig, 6);
      rig.disk.setSpace(400L * k);
      try {
        Result unused = run(rig);
      } catch (IOException e) {
        assertTrue(InWords.isFull(e), "" + e);
        full++;
      }
      for (DeltaLog.File file : state(rig).files().values()) {
        Path path = layout(rig).table().root().resolve(file.name()).path();
        assertEquals(file.size(), rig.disk.content(path).length);
      }
      rig.disk.setSpace(Long.MAX_VALUE);
      Result rest = run(rig);
      check(rig, k + ": " + rest);
      assertTrue(scratch().isEmpty(), "" + scratch());
    }
    assertTrue(full > 2);
  }

  private List<Path> scratch() throws IOException {
    try (var files = Files.list(temp.resolve("scratch"))) {
      return files.toList();
    }
  }

  /** DuckDB has no room for its own file, or for what does not fit into its memory. */
  @ParameterizedTest
  @ValueSource(strings = {"COPY", "SELECT"})
  void fullScratchIsTold(String at) throws Exception {
    Rig rig = Rig.memory(6);
    write(rig, 6);
    assertTrue(run(rig).files() > 1);
    write(rig, 6);
    DeltaLog.State before = state(rig);
    int[] left = {1};
    var full = new StatementException("IO Error: No space left on device", false);
    SqlEngine engine =
        engine(
            statement -> {
              if (statement.startsWith(at) && left[0]-- == 0) {
                throw full;
              }
            });
    TableBuilder builder = builder(rig, fs(rig), engine);
    var e = assertThrows(StatementException.class, () -> builder.run(ALL, Duration.ZERO).files());
    assertEquals(full, e);
    assertEquals(List.of(), scratch());
    assertEquals(before.version() + 1, state(rig).version(), "the file before it stays");
    assertTrue(run(rig).files() > 0);
    check(rig, at);
  }

  /** As when a signal comes: in the middle of a file, or between two. */
  @Test
  void whoCancelsLeavesNothingBehind() throws Exception {
    for (int file = 0; file < 2; file++) {
      Rig rig = Rig.memory(14);
      write(rig, 6);
      int[] left = {file};
      var builders = new ArrayList<TableBuilder>();
      SqlEngine engine =
          engine(
              statement -> {
                if (statement.startsWith("COPY") && left[0]-- == 0) {
                  builders.get(0).cancel();
                }
              });
      builders.add(builder(rig, fs(rig), engine));
      assertThrows(IOException.class, () -> builders.get(0).run(ALL, Duration.ZERO).files());
      assertEquals(file - 1, state(rig).version());
      assertEquals(List.of(), scratch());
      assertTrue(run(rig).files() > 0);
      check(rig, "" + file);
    }
  }

  private interface Statement {
    void begins(String text) throws IOException;
  }

  /** DuckDB, and what is done before each statement. */
  private static SqlEngine engine(Statement before) {
    return new SqlEngine() {
      @Override
      public Session open(Source source, Limits limits) throws IOException {
        return new Forwarding(new DuckDbEngine().open(source, limits)) {
          @Override
          public Answer run(String statement) throws IOException {
            before.begins(statement);
            return super.run(statement);
          }
        };
      }

      @Override
      public Prompt prompt(Path history) {
        throw new UnsupportedOperationException();
      }
    };
  }

  private static class Forwarding implements Session {
    private final Session to;

    Forwarding(Session to) {
      this.to = to;
    }

    @Override
    public Answer run(String statement) throws IOException {
      return to.run(statement);
    }

    @Override
    public void cancel() {
      to.cancel();
    }

    @Override
    public long readThrough() {
      return to.readThrough();
    }

    @Override
    public long read() {
      return to.read();
    }

    @Override
    public void close() throws IOException {
      to.close();
    }
  }

  /** A server that has a request twice says the second time that the name is taken. */
  @Test
  void whoFindsItsOwnCommitAddedIt() throws Exception {
    Rig rig = Rig.memory(12);
    write(rig, 6);
    var faulty = new FaultyFs(fs(rig));
    faulty.after(
        op -> {
          if (op.kind() == Kind.LINK && ofTable(op)) {
            throw new FileAlreadyExistsException(op.path().toString());
          }
        });
    Result result = run(rig, faulty);
    assertEquals(6, result.messages());
    assertEquals(result.files(), state(rig).files().size());
    assertEquals(0, run(rig).files());
    check(rig, "");
  }

  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"ERROR_BEFORE", "ERROR_AFTER", "ERROR_PARTIAL"})
  @Tag("share")
  void anErrorAtAnyOperationLosesAndDoublesNothing(Fault fault) throws Exception {
    boolean more = true;
    for (int k = 1 + Share.first(13); more; k += Share.step(13)) {
      Rig rig = Rig.memory(7);
      write(rig, 6);
      var faulty = new FaultyFs(fs(rig));
      faulty.arm(k, fault, HostileTableTest::ofTable);
      long told = 0;
      boolean failed = false;
      try {
        told = run(rig, faulty).messages();
      } catch (IOException e) {
        failed = true;
      }
      more = faulty.fired();
      told += run(rig).messages();
      check(rig, fault + " " + k);
      assertTrue(failed ? told <= 6 : told == 6, fault + " " + k + ": " + told);
    }
  }

  /** A builder that has nothing to add sweeps while another has a file and no commit yet. */
  @Test
  @Tag("share")
  void nobodySweepsWhatACommitMayStillName() throws Exception {
    boolean more = true;
    for (int k = Share.first(5); more; k += Share.step(5)) {
      Rig rig = Rig.memory(8);
      write(rig, 2);
      assertEquals(2, run(rig).messages());
      write(rig, 4);
      var faulty = new FaultyFs(fs(rig));
      int[] left = {k};
      faulty.before(
          op -> {
            if (ofTable(op) && left[0]-- == 0) {
              TableBuilder idle = builder(rig, fs(rig), new DuckDbEngine());
              assertEquals(0, idle.run(ALL, Duration.ofDays(9)).files());
            }
          });
      assertEquals(4, run(rig, faulty).messages());
      more = left[0] < 0;
      check(rig, "" + k);
    }
  }

  /** The losers of a number tell of nothing that they did not add. */
  @Test
  void whatTwoBuildersAddIsCountedOnce() throws Exception {
    Rig rig = Rig.memory(9);
    write(rig, 6);
    var faulty = new FaultyFs(fs(rig));
    var others = new ArrayList<Result>();
    faulty.beforeFirst(
        op -> op.kind() == Kind.LINK && op.path().toString().endsWith(".json"),
        () -> others.add(run(rig)));
    Result loser = run(rig, faulty);
    assertEquals(6, others.get(0).messages());
    assertEquals(List.of(0, 0L), List.of(loser.files(), loser.messages()));
    assertEquals(others.get(0).version(), loser.version());
    var files = new TreeSet<>(fs(rig).list(layout(rig).table().root().path()));
    files.remove("_delta_log");
    assertEquals(new TreeSet<>(state(rig).files().keySet()), files);
    check(rig, "");
  }

  /** Messages that expired stay in files of a table that have others, too (rule R4). */
  @Test
  void statementsGiveNothingThatExpired() throws Exception {
    Rig rig = Rig.at(temp.resolve("store"), 10);
    StoreFs fs = new ClockedFs(new PosixFs(null, null), rig.time);
    Log log = rig.make(fs, StoreSettings.DEFAULT);
    write(rig, fs, 5);
    Aggregator.Result first = new Aggregator(log).run();
    rig.time.advanceMs(Duration.ofDays(40).toMillis());
    write(rig, fs, 4);
    assertEquals(
        1, builder(rig, fs, new DuckDbEngine(), Long.MAX_VALUE).run(ALL, Duration.ZERO).files());
    assertEquals(List.of("9"), column(rig, fs, "SELECT count(*) FROM jobs"));
    Aggregator.Result more = new Aggregator(rig.open(fs)).run();
    new Retention(rig.open(fs), Duration.ZERO).run();
    long floor = new Expiry(rig.open(fs), Duration.ofDays(1)).run(path -> {}).before();
    assertTrue(floor > Long.MIN_VALUE, first + " " + more);
    assertEquals(
        1, new DeltaLog(log.context(), log.context().layout().table()).read().files().size());
    assertEquals(List.of("4"), column(rig, fs, "SELECT count(*) FROM jobs"));
    assertEquals(
        List.of("true"), column(rig, fs, "SELECT min(time_ns) >= %d FROM jobs".formatted(floor)));
  }

  private List<String> column(Rig rig, StoreFs fs, String statement) throws IOException {
    var source =
        new Source(
            Store.open(rig.root, rig.environment(fs, rig.time)),
            List.of(Rig.JOBS),
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            false,
            true,
            (m, file, why) -> {});
    var values = new ArrayList<String>();
    try (var session =
            new DuckDbEngine()
                .open(source, new Limits(1 << 28, temp.resolve("spill"), List.of(), 1));
        Answer answer = session.run(statement)) {
      while (answer.next()) {
        values.add("" + answer.value(0));
      }
    }
    return values;
  }

  /** Something else stands where the table would. */
  @Test
  void aFileInTheTablesPlaceIsTold() throws Exception {
    Rig rig = Rig.memory(11);
    write(rig, 2);
    Path table = layout(rig).table().root().path();
    put(rig, table, "?");
    IOException e = assertThrows(IOException.class, () -> run(rig));
    assertFalse(e instanceof NoSuchFileException, "" + e);
    assertTrue(("" + e.getMessage()).contains(table.toString()), "" + e);
  }

  @Test
  void aFileThatIsGoneIsTold() throws Exception {
    Rig rig = Rig.at(temp.resolve("store"), 12);
    StoreFs fs = new ClockedFs(new PosixFs(null, null), rig.time);
    Log log = rig.make(fs, StoreSettings.DEFAULT);
    write(rig, fs, 2);
    assertTrue(run(rig, fs).files() > 0);
    Path table = log.context().layout().table().root().path();
    String gone = fs.list(table).stream().filter(f -> f.endsWith(".parquet")).findFirst().get();
    Files.delete(table.resolve(gone));
    IOException e =
        assertThrows(IOException.class, () -> column(rig, fs, "SELECT count(payload) FROM jobs"));
    assertTrue(("" + e.getMessage()).contains("a file of a table is gone: "), "" + e);
    assertTrue(("" + e.getMessage()).contains(gone), "" + e);
  }
}
