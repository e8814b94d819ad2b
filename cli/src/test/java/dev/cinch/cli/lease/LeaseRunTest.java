package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.ArchivedClasses;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.Served;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.serve.RestartTest;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.client.ServerAddresses;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands under leases, and what they append, in processes of their own. */
@Execution(ExecutionMode.CONCURRENT) // most wait for a lease to run out, or for processes
@Timeout(600)
@SuppressWarnings("NullAway.Init")
class LeaseRunTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** In bytes, on Linux. */
  private static final int LONGEST_PATH = 4_096;

  @TempDir Path temp;

  private Served served;
  private Cinch cinch;
  private Path script;

  @BeforeEach
  void serve() throws Exception {
    served = new Served(temp);
    cinch = served.cinch;
    script = ArchivedClasses.script(temp);
  }

  @AfterEach
  void stop() throws Exception {
    served.close();
  }

  /** Runs a shell's text under the leases; {@code cinch} stands for the command line. */
  private Forked run(String text, String... options) throws IOException {
    var args = new ArrayList<>(List.of("lease", "run", "--server=" + served.uri()));
    args.addAll(List.of(options));
    args.addAll(List.of("jobs/1", "--", "sh", "-c", text.replace("cinch", script.toString())));
    return new Forked(args.toArray(String[]::new));
  }

  private JsonNode shown(String name) throws Exception {
    return JSON.readTree(cinch.run("lease", "show", "--json", name).ended(0).out());
  }

  private void ends(int code, Forked command) throws Exception {
    String err = command.err();
    assertEquals(code, command.await(), err);
    assertEquals("RELEASED", shown("jobs/1").get("state").textValue(), err);
  }

  @Test
  void theStatusOfTheCommandPassesThrough() throws Exception {
    try (Forked early =
        run("echo $CINCH_FENCE; cinch lease show --json jobs/1; cinch lease release; exit 3")) {
      String fence = early.line();
      JsonNode shown = JSON.readTree(early.line());
      assertEquals("HELD", shown.get("state").textValue());
      JsonNode witness = shown.get("witness");
      String token = "%019d-%019d-%010d";
      assertEquals(
          token.formatted(
              witness.get("instance").longValue(),
              IsoTime.nanos(witness.get("issuedAt").textValue()),
              witness.get("generation").longValue()),
          fence);
      ends(3, early);
    }
    try (Forked killed = run("kill -9 $$")) {
      ends(137, killed);
    }
  }

  @Test
  void whatCanNotBeRunIsToldAsShellsDo() throws Exception {
    String[] run = {"lease", "run", "jobs/1", "--", "no-such-command"};
    cinch.run(run).failed(127, "no-such-command: there is no such command");
    cinch.run("lease", "run", "jobs/1", "--", temp.toString()).failed(126, "can't be run");
    cinch.run("lease", "run", "jobs/1").failed(2, "name a command to run");
    cinch.run("lease", "run", "jobs/1", "--").failed(2, "name a command to run");
    cinch.run("lease", "run", "--", "true").failed(2, "LEASE");
  }

  @Test
  void nothingIsRunWhileAnotherHoldsALease() throws Exception {
    cinch.run("lease", "acquire", "--for=60s", "jobs/1").ended(0);
    Path file = temp.resolve("ran");
    cinch
        .run("lease", "run", "--wait=200ms", "jobs/0", "jobs/1", "--", "touch", file.toString())
        .failed(3, "jobs/1 is held by")
        .failed(3, "waited 0.2 s");
    assertFalse(Files.exists(file));
  }

  /** The first of a queue is tried once more when it joins. */
  @Test
  void thoseWhoWaitHaveTheLeaseInTheOrderInWhichTheyCame() throws Exception {
    String said = cinch.run("lease", "acquire", "--for=60s", "--export", "jobs/1").ended(0).out();
    served.awaitAcquires(1);
    Path order = temp.resolve("order");
    var waiting = new ArrayList<Forked>();
    try {
      for (int i = 0; i < 4; i++) {
        waiting.add(run("echo " + i + " >> " + order, "--wait=1h"));
        served.awaitAcquires(i == 0 ? 2 : 1);
      }
      waiting.remove(1).close(); // gives up its place
      cinch.with("CINCH_GRANT", said.split("'", -1)[1]).run("lease", "release").ended(0);
      for (Forked each : waiting) {
        assertEquals(0, each.await(), each.err());
      }
    } finally {
      for (Forked each : waiting) {
        each.close();
      }
    }
    assertEquals("0\n2\n3\n", Files.readString(order));
  }

  /** Rule L2: the next holder's messages are above all of theirs. */
  @Test
  void l2_appendsWithinWriteUnderTheLeasesAndTheReleaseSaysHowFarTheyCame() throws Exception {
    try (Forked running =
        run(
            "for i in 1 2; do echo $i | cinch append --log jobs --create & done; wait;"
                + " echo 3 | cinch append --log jobs",
            "--store=" + served.store)) {
      ends(0, running);
    }
    cinch.feed("after\n", "append", "--log=jobs", "--lease=jobs/1").ended(0);
    cinch.settle("jobs");
    List<JsonNode> messages = new ArrayList<>();
    for (String line : cinch.run("cat", "--log=jobs", "--json").ended(0).out().lines().toList()) {
      messages.add(JSON.readTree(line));
    }
    assertEquals(4, messages.size());
    for (int i = 0; i < 4; i++) {
      JsonNode lease = messages.get(i).get("leases").get(0);
      assertEquals("jobs/1", lease.get("name").textValue());
      assertEquals(i < 3 ? 1 : 2, lease.get("generation").intValue());
    }
    assertEquals("3", messages.get(2).get("payload").textValue());
    JsonNode next = shown("jobs/1").get("witness");
    assertEquals("RELEASED", next.get("previousEnding").textValue());
    assertEquals(messages.get(2).get("timestamp"), next.get("watermark").get("timestamp"));
    cinch.run("audit").ended(0);
  }

  /** The usual times are those that the store and its service allow. */
  @Test
  void leasesLastAsLongAsIsAllowedUnlessSomebodySays() throws Exception {
    Path of = Files.createDirectory(temp.resolve("short"));
    Path quick = Cinch.store(of, "--longest-lease=5s");
    try (var brief = new Served(quick, 4_500)) { // as serve --longest-lease has it
      Cinch by = brief.cinch;
      by.feed("a\n", "append", "--log=jobs", "--create", "--lease=x").ended(0);
      String env = by.run("lease", "acquire", "--export", "x").ended(0).out();
      by.with("CINCH_GRANT", env.split("'", -1)[1]);
      by.run("lease", "renew").ended(0);
      by.feed("b\n", "append", "--log=jobs").ended(0);
      by.run("lease", "release").ended(0);
      by.with("CINCH_GRANT", "");
      by.run("lease", "run", "x", "--", "true").ended(0);
      by.run("lease", "run", "--store=" + quick, "x", "--", "true").ended(0);
      by.run("lease", "run", "--for=5s", "x", "--", "true").failed(3, "4500 ms");
      by.feed("c\n", "append", "--log=jobs", "--lease=x", "--lease-for=5s").failed(3, "4500 ms");
    }
    of = Files.createDirectory(temp.resolve("wide"));
    Path wide = Cinch.store(of, "--bucket-width=20s");
    try (var slow = new Served(wide, 60_000)) { // ten seconds would fence nothing
      slow.cinch.feed("a\n", "append", "--log=jobs", "--create", "--lease=x").ended(0);
    }
    cinch.run("lease", "run", "jobs/1", "--", "true").ended(0);
    JsonNode held = shown("jobs/1").get("witness");
    assertEquals(60_000_000_000L, nanos(held, "expiry") - nanos(held, "issuedAt"));
  }

  /** While the command can still be stopped in order. */
  @Test
  void aLossIsToldBeforeTheCommandIsEnded() throws Exception {
    String told = "--on-lost=echo $CINCH_LEASE: $CINCH_REASON; test $CINCH_LEFT_MS -gt 0; echo $?";
    String text = "trap 'echo ended; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    try (Forked running = run(text, "--for=3s", told)) {
      assertEquals("ready", running.line());
      cinch.run("lease", "revoke", "jobs/1", "--reason=test", served.admin).ended(0);
      String lost =
          "jobs/1: the leases can't be renewed: the lease on jobs/1 was revoked: test; acquire anew";
      assertEquals(
          List.of(lost, "0", "ended"), List.of(running.line(), running.line(), running.line()));
      assertEquals(3, running.await());
    }
  }

  /** What nobody hears of runs out; how long it is asked says GivingBackTest. */
  @Test
  void aServiceThatIsSilentIsNotWaitedFor() throws Exception {
    served.deafToReleases();
    try (Forked running = run("exit 5")) {
      String err = running.err();
      running.ended(5);
      assertTrue(err.contains("run out: no answer from the lease service within 1.5 s"), err);
    }
  }

  /** Nobody knows what it wrote. */
  @Test
  void l2_theLeasesOfAnAppendThatWasKilledAreNotGivenBack() throws Exception {
    String text =
        "cd "
            + temp
            + "; mkfifo in receipts; cinch append --log jobs --create --json < in > receipts &"
            + " exec 3> in 4< receipts; echo a >&3; read receipt <&4; kill -9 $!; wait $!; exit 0";
    try (Forked running = run(text, "--for=5s", "--store=" + served.store)) {
      String err = running.err();
      assertTrue(
          err.contains(
              "the leases are not given back, and run out: an append under them was killed"),
          err);
      running.ended(0);
    }
    JsonNode left = shown("jobs/1");
    assertFalse(left.get("state").textValue().equals("RELEASED"));
    long signedFor = nanos(left.get("witness"), "expiry") - nanos(left.get("witness"), "issuedAt");
    assertTrue(signedFor <= 5_000_000_000L, "the next holder waits longer than --for: " + left);
    // Nobody closes: what it reads was settled by the fence, before it began.
    String[] fencing = {"--wait=60s", "--store=" + served.store};
    try (Forked next = run("cinch cat --log jobs", fencing)) {
      assertEquals("a", next.line());
      ends(0, next);
    }
    assertEquals("BROKEN", shown("jobs/1").get("witness").get("previousEnding").textValue());
    cinch.feed("b\n", "append", "--log=jobs", "--lease=jobs/1").ended(0);
    cinch.settle("jobs");
    assertEquals("a\nb\n", cinch.run("cat", "--log=jobs").ended(0).out());
    cinch.run("audit").ended(0);
  }

  /**
   * Those of batch systems, timers and terminals; real-time ones by their numbers. Not SIGQUIT,
   * which what Java starts, as here, has blocked.
   */
  @Test
  void signalsArePassedOn() throws Exception {
    var names = new ArrayList<>(List.of("INT", "HUP", "USR1", "USR2", "ALRM", "PIPE"));
    names.addAll(List.of("VTALRM", "PROF", "XCPU", "XFSZ", "PWR", "IO", "WINCH", "URG", "CONT"));
    names.addAll(List.of("34", "50", "64", "TERM"));
    if (isInFront()) { // where a terminal runs the tests, it alone tells of these
      names.removeAll(List.of("INT", "WINCH"));
    }
    if (ignores(1)) {
      names.remove("HUP"); // Under nohup all of them do, as they should.
    }
    if (ignores(2)) {
      names.remove("INT"); // So does what a shell's script started with &.
    }
    try (Forked running =
        run(
            "for s in "
                + String.join(" ", names)
                + "; do trap \"echo $s\" $s; done; trap 'echo got; exit 5' TERM; echo ready;"
                + " while :; do sleep 0.05; done")) {
      assertEquals("ready", running.line());
      for (String name : names) {
        running.signal(name);
        assertEquals(name.equals("TERM") ? "got" : name, running.line());
      }
      ends(5, running);
    }
  }

  private static boolean isInFront() throws IOException {
    String stat = Files.readString(Path.of("/proc/self/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", 7);
    return fields[2].equals(fields[5]);
  }

  private static boolean ignores(int signal) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("SigIgn:"))
        .mapToLong(line -> Long.parseUnsignedLong(line.split("\\s+", -1)[1], 16))
        .anyMatch(mask -> (mask >> (signal - 1) & 1) != 0);
  }

  /**
   * Neither the command nor what it started runs beside the next holder's, whoever was killed or
   * stopped.
   *
   * @param what signals, each to some: L is the launcher, J Java, and G the guard
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "KILL J",
        "STOP J",
        "KILL JG",
        "STOP JG",
        "KILL J STOP G",
        "STOP J KILL G",
        "KILL L",
        "KILL LJ",
        "KILL LG",
        "KILL L STOP J",
        "KILL L STOP G",
        "STOP L KILL J",
        "STOP LJ"
      })
  void whoeverIsLeftEndsTheCommandBeforeTheLeaseIsAnothers(String what) throws Exception {
    String text =
        "trap '' TERM; (echo $(exec sh -c 'echo $PPID') $$; i=0;"
            + " while [ $((i=i+1)) -lt 1200 ]; do sleep 0.05; done) & wait; wait";
    try (Forked running = run(text, "--for=2s", "--wait=1h")) {
      String pids = running.line();
      ProcessHandle java = running.java();
      ProcessHandle guard = running.guard();
      String[] words = what.split(" ");
      for (int i = 0; i < words.length; i += 2) {
        long[] to =
            words[i + 1]
                .chars()
                .mapToLong(c -> c == 'L' ? running.pid() : c == 'J' ? java.pid() : guard.pid())
                .toArray();
        Forked.signal(words[i], to);
      }
      cinch.run("lease", "acquire", "--wait=1h", "jobs/1").ended(0);
      for (String pid : pids.split(" ")) {
        assertTrue(hasEnded(Path.of("/proc", pid, "stat")), what);
      }
      if (what.startsWith("STOP L")) {
        running.signal("CONT");
      }
      assertEquals(what.startsWith("KILL L") ? 137 : 3, running.await(), what);
      java.destroyForcibly(); // where the launcher could not
      guard.destroyForcibly();
    }
  }

  /** What init has not reaped yet runs no more. */
  private static boolean hasEnded(Path stat) throws IOException {
    try {
      String text = Files.readString(stat);
      return text.startsWith("Z", text.lastIndexOf(')') + 2);
    } catch (NoSuchFileException e) {
      return true;
    } catch (IOException e) {
      if ("No such process".equals(e.getMessage())) {
        return true; // since the file was opened
      }
      throw e;
    }
  }

  /** Those that were stopped for a while, and go on, end nothing that may go on. */
  @Test
  void whatWasStoppedAndGoesOnInTimeEndsNothing() throws Exception {
    try (Forked running = run("echo ready; read go; exit 7", "--for=60s")) {
      assertEquals("ready", running.line());
      long[] others = {running.java().pid(), running.guard().pid()};
      for (String signal : List.of("STOP", "CONT")) {
        Forked.signal(signal, others);
        running.signal(signal);
      }
      running.type("go\n");
      ends(7, running);
    }
  }

  /** While Java renews; and nobody waits for one that was stopped. */
  @ParameterizedTest
  @ValueSource(strings = {"STOP", "KILL"})
  void withoutItsGuardTheCommandGoesOn(String signal) throws Exception {
    try (Forked running = run("echo ready; read go; exit 7", "--for=60s")) {
      assertEquals("ready", running.line());
      ProcessHandle guard = running.guard();
      Forked.signal(signal, guard.pid());
      running.type("go\n");
      ends(7, running);
      guard.onExit().join();
    }
  }

  /** What a process has of the one that starts it, but for what cinch append needs to know. */
  @Test
  void theCommandGetsWhatItWouldGetWithoutCinch() throws Exception {
    Path probe =
        Files.writeString(
            temp.resolve("probe"),
            "exec 2>&1; umask; ulimit -Sa; ulimit -Ha; pwd; env -0 | tr '\\0' '\\n"
                + "' | grep -av ^CINCH_; ls /proc/self/fd; ls -l /proc/$$/fd | grep -o '[0-9]* ->"
                + " .*null'; grep ^Sig[BIC] /proc/self/status; printf '%s|' \"$@\"\n");
    String script =
        "umask 027; cd '%s'; ulimit -Sn 200; unset PWD SHLVL OLDPWD; exec 5</dev/null 8</dev/null"
            + " 9</dev/null <&-; export LC_ALL=de_DE.UTF-8 LC_TIME=none LC_MESSAGES=fr_FR FOO='a\n"
            + "b'; trap '' USR1; for with in '' '%s lease run --server=%s jobs/1 --'; do env -u _"
            + " a.b=c $with sh '%s' $'caf\\xe9.txt' '' '*' -- -v $'\\n"
            + "' 2>/dev/null; echo; echo ==; done";
    Path out = temp.resolve("out");
    Process shell =
        new ProcessBuilder(
                "bash",
                "-c",
                script.formatted(temp, ArchivedClasses.launcher(), served.uri(), probe))
            .redirectOutput(out.toFile())
            .start();
    String err = new String(shell.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, shell.waitFor(), err);
    String[] both = Files.readString(out, StandardCharsets.ISO_8859_1).split("\n==\n", -1);
    assertTrue(both[0].contains("caf\u00e9.txt|"), both[0]);
    assertEquals(both[0], both[1], err);
  }

  /** Java's own children would get other arguments and limits. */
  @Test
  void javaAloneRunsNothing() throws Exception {
    Process java =
        new ProcessBuilder(
                script.toString(), "lease", "run", "--server=" + served.uri(), "x", "--", "true")
            .start();
    String err = new String(java.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(4, java.waitFor());
    assertTrue(err.contains("start Cinch with its launcher"), err);
  }

  @Test
  void theCommandIsEndedBeforeItsLeasesCanBeAnothers() throws Exception {
    try (Forked running =
        run("trap 'echo told' TERM; echo ready; while :; do sleep 0.05; done", "--for=2s")) {
      assertEquals("ready", running.line());
      served.away(true);
      assertEquals("told", running.line());
      String err = running.err();
      running.ended(3);
      assertTrue(err.contains("the lease service does not answer; ending the command"), err);
      assertTrue(err.contains("it did not end: killing it"), err);
    }
  }

  /** A shell whose child does not end is the usual command. */
  @Test
  void whatTheCommandStartedIsEndedToo() throws Exception {
    Path stubborn =
        Files.writeString(
            temp.resolve("stubborn"),
            "trap '' TERM; echo $$; i=0; while [ $((i=i+1)) -lt 400 ]; do sleep 0.05; done\n");
    try (Forked running = run("sh " + stubborn + " & wait", "--for=2s")) {
      long pid = Long.parseLong(running.line());
      served.away(true);
      String err = running.err();
      running.ended(3);
      assertTrue(err.contains("it did not end: killing it"), err);
      ProcessHandle.of(pid).ifPresent(child -> child.onExit().join());
    }
  }

  @Test
  void leasesThatNoCommandCanShareAreGivenBack() throws Exception {
    Path deep = temp.toRealPath();
    while (deep.toString().length() < LONGEST_PATH - 16) {
      int left = LONGEST_PATH - 16 - deep.toString().length();
      deep = deep.resolve("d".repeat(Math.min(200, Math.max(1, left))));
    }
    cinch.with("XDG_RUNTIME_DIR", Files.createDirectories(deep).toString());
    cinch.run("lease", "run", "jobs/1", "--", "true").failed(4, "/ddd");
    assertEquals("RELEASED", shown("jobs/1").get("state").textValue());
    cinch.run("lease", "acquire", "--export", "jobs/2").failed(4, "/ddd");
    assertEquals("RELEASED", shown("jobs/2").get("state").textValue());
  }

  /** Rule L14: a release that was not answered may be carried out when appends have begun anew. */
  @Test
  void l14_noAppendBeginsOnceAReleaseWasSent() throws Exception {
    String said = cinch.run("lease", "acquire", "--export", "jobs/1").ended(0).out();
    cinch.with("CINCH_GRANT", said.split("'", -1)[1]);
    served.away(true);
    cinch.run("lease", "release").failed(4, "away");
    served.away(false);
    cinch.feed("a\n", "append", "--log=jobs", "--create").failed(3, "being given back");
    cinch.run("lease", "release").ended(0);
    assertEquals("RELEASED", shown("jobs/1").get("state").textValue());
    cinch.run("lease", "release").failed(3, "there is no grant in");
  }

  /** Rule L14: parent and appends resume each, and are one holder. */
  @Test
  void l14_aRestartOfTheLeaseServerEndsNothing() throws Exception {
    Path store = Cinch.quickStore(Files.createDirectory(temp.resolve("other")));
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    String port = "--port=" + RestartTest.freePort();
    String[] serve = {"serve", port, "--store=" + store, "--key=" + temp.resolve("key")};
    String text =
        "mkfifo in; cinch append --log jobs --json < in & exec 3> in; echo a >&3;"
            + " read go; echo b >&3; echo c | cinch append --log jobs --json; exec 3>&-; wait";
    Forked server = new Forked(serve);
    try {
      String uri = server.listening();
      Cinch outside = Cinch.on(store).with("CINCH_SERVER", uri);
      try (Forked running =
          new Forked(
              "lease",
              "run",
              "--server=" + uri,
              "--store=" + store,
              "--for=30s",
              "jobs/1",
              "--",
              "sh",
              "-c",
              "cd " + temp + "; " + text.replace("cinch", script.toString()))) {
        assertTrue(running.line().contains("COMMITTED"));
        server.close();
        server = new Forked(serve);
        assertEquals(uri, server.listening());
        running.type("go\n");
        assertTrue(running.line().contains("COMMITTED"));
        assertTrue(running.line().contains("COMMITTED"));
        String err = running.err();
        running.ended(0);
        assertEquals("", err);
      }
      JsonNode after =
          JSON.readTree(outside.run("lease", "show", "--json", "jobs/1").ended(0).out());
      assertEquals("RELEASED", after.get("state").textValue());
      assertEquals(2, after.get("witness").get("instance").intValue());
      outside.settle("jobs");
      List<String> lines = outside.run("cat", "--log=jobs").ended(0).out().lines().toList();
      assertEquals(List.of("a", "b", "c"), lines.stream().sorted().toList());
      assertEquals("a", lines.get(0));
      outside.run("audit").ended(0);
    } finally {
      server.close();
    }
  }

  @Test
  void aShellsCommandsWorkWithWhatAcquireExports() throws Exception {
    Process shell =
        new ProcessBuilder(
                "sh",
                "-c",
                "eval \"$(\"$@\")\"; env | grep ^CINCH_",
                "sh",
                script.toString(),
                "lease",
                "acquire",
                "--export",
                "--server=" + served.uri(),
                "jobs/2")
            .start();
    Path grant = temp;
    for (String line : shell.inputReader(StandardCharsets.UTF_8).lines().toList()) {
      String[] variable = line.split("=", 2);
      cinch.with(variable[0], variable[1]);
      if (variable[0].equals("CINCH_GRANT")) {
        grant = Path.of(variable[1]);
      }
    }
    assertEquals(0, shell.waitFor());
    String[] append = {"append", "--log=jobs", "--create"};
    cinch.feed("a\n", append).ended(0);
    cinch.run("lease", "renew").ended(0);
    Path other = Files.createFile(grant.resolve("use-other"));
    cinch.run("lease", "release").failed(3, "an append under the leases goes on, or was killed");
    Files.delete(other);
    cinch.feed("b\n", append).ended(0);
    cinch.run("lease", "release").ended(0);
    cinch.run("lease", "release").failed(3, "there is no grant in");
    assertFalse(Files.exists(grant));
    cinch.feed("c\n", append).failed(3, "there is no grant in");
    assertEquals("RELEASED", shown("jobs/2").get("state").textValue());
    cinch.settle("jobs");
    assertEquals("a\nb\n", cinch.run("cat", "--log=jobs").ended(0).out());
  }

  @Test
  void aGrantThatIsGivenBackLetsNoAppendBegin() throws Exception {
    var id = dev.cinch.lease.Id.parse("0".repeat(31) + "1");
    var servers = ServerAddresses.parse(served.uri());
    var grant = GrantDirectory.make(id, servers, Duration.ofSeconds(30), name -> temp.toString());
    assertEquals(Duration.ofSeconds(30), GrantDirectory.open(grant.path()).lasting());
    assertEquals("rwx------", mode(grant.path()));
    assertEquals("rw-------", mode(grant.path().resolve("grant")));
    var one = GrantDirectory.open(grant.path()).use();
    var two = GrantDirectory.open(grant.path()).use();
    one.ended(java.util.OptionalLong.of(5), 1);
    GrantDirectory.Uses uses = grant.close();
    assertEquals(1, uses.open());
    assertEquals(java.util.OptionalLong.of(5), uses.highest());
    var late = org.junit.jupiter.api.Assertions.assertThrows(Failure.Refusal.class, grant::use);
    assertTrue(String.valueOf(late.getMessage()).contains("being given back"));
    two.ended(java.util.OptionalLong.of(3), 2);
    uses = grant.close();
    assertEquals(0, uses.open());
    assertEquals(java.util.OptionalLong.of(5), uses.highest());
    assertEquals(java.util.Set.of(1L, 2L), uses.instances());
    grant.reopen();
    var three = grant.use();
    grant.remove();
    assertFalse(Files.exists(grant.path()));
    three.ended(java.util.OptionalLong.of(9), 1); // it may go on for long: nobody asks it
    assertFalse(Files.exists(grant.path()));
    org.junit.jupiter.api.Assertions.assertThrows(Failure.Refusal.class, grant::use);
  }

  private static String mode(Path path) throws IOException {
    return java.nio.file.attribute.PosixFilePermissions.toString(
        Files.getPosixFilePermissions(path));
  }

  private static long nanos(JsonNode of, String field) {
    return IsoTime.nanos(of.get(field).textValue());
  }
}
