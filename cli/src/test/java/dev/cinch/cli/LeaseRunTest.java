package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands under leases, and what they append, in processes of their own. */
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
    try (Forked zero = run("echo held; cinch lease show --json jobs/1")) {
      assertEquals("held", zero.line());
      assertEquals("HELD", JSON.readTree(zero.line()).get("state").textValue());
      ends(0, zero);
    }
    try (Forked seven = run("exit 7")) {
      ends(7, seven);
    }
    try (Forked killed = run("kill -9 $$")) {
      ends(137, killed);
    }
    try (Forked early = run("cinch lease release; exit 3")) {
      ends(3, early);
    }
  }

  @Test
  void whatCanNotBeRunIsToldAsShellsDo() throws Exception {
    String[] run = {"lease", "run", "jobs/1", "--", "no-such-command"};
    cinch.run(run).failed(127, "no-such-command: there is no such command");
    cinch.run("lease", "run", "jobs/1", "--", temp.toString()).failed(126, "can't be run");
    assertEquals("RELEASED", shown("jobs/1").get("state").textValue());
    cinch.run("lease", "run", "jobs/1").failed(2, "name a command to run");
    cinch.run("lease", "run", "jobs/1", "--").failed(2, "name a command to run");
    cinch.run("lease", "run", "--", "true").failed(2, "LEASE");
  }

  @Test
  void nothingIsRunWhileAnotherHoldsALease() throws Exception {
    cinch.run("lease", "acquire", "--for=60s", "jobs/1").ended(0);
    Path file = temp.resolve("ran");
    cinch
        .run("lease", "run", "jobs/0", "jobs/1", "--", "touch", file.toString())
        .failed(3, "jobs/1 is held by");
    cinch
        .run("lease", "run", "--wait=200ms", "jobs/1", "--", "touch", file.toString())
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
    assertEquals(
        messages.get(2).get("timestampNanos"), next.get("watermark").get("timestampNanos"));
    cinch.run("audit").ended(0);
  }

  /** Nobody knows what it wrote. */
  @Test
  void l2_theLeasesOfAnAppendThatWasKilledAreNotGivenBack() throws Exception {
    String text =
        "cd "
            + temp
            + "; mkfifo in; cinch append --log jobs --create --json < in > receipts &"
            + " exec 3> in; echo a >&3; until grep -q COMMITTED receipts; do :; done; kill -9 $!;"
            + " wait $!; exit 0";
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
    long signedFor =
        left.get("witness").get("expiryNanos").asLong()
            - left.get("witness").get("issuedAtNanos").asLong();
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

  @Test
  void signalsArePassedOn() throws Exception {
    // Where a terminal runs the tests, it alone interrupts.
    var names = new ArrayList<>(List.of("TERM", "INT", "HUP"));
    if (RunningCommand.isInFront()) {
      names.remove("INT");
    }
    if (ignoresHangups()) {
      names.remove("HUP"); // Under nohup all of them do, as they should.
    }
    for (String name : names) {
      try (Forked running =
          run("trap 'echo got; exit 5' " + name + "; echo ready; while :; do sleep 0.05; done")) {
        assertEquals("ready", running.line());
        running.signal(name);
        assertEquals("got", running.line());
        ends(5, running);
      }
    }
  }

  private static boolean ignoresHangups() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("SigIgn:"))
        .anyMatch(line -> (Long.parseUnsignedLong(line.split("\\s+", -1)[1], 16) & 1) != 0);
  }

  @Test
  void ctrlCIsNotPassedOnASecondTime() {
    assertTrue(RunningCommand.isInFront("71 (a b) c) S 70 71 60 34816 71 4194304 0"));
    assertFalse(RunningCommand.isInFront("71 (java) S 70 71 60 34816 99 4194304 0"));
    assertFalse(RunningCommand.isInFront("71 (java) S 70 71 71 0 -1 4194304 0"));
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
              "--for=20s",
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
    String text =
        "cd "
            + temp
            + "; export CINCH_STORE="
            + served.store
            + "; eval \"$(cinch lease acquire --export --server="
            + served.uri()
            + " jobs/2)\""
            + "; echo a | cinch append --log jobs --create && cinch lease renew > renewed"
            + " && : > $CINCH_GRANT/use-other; cinch lease release && exit 9"
            + "; rm $CINCH_GRANT/use-other; echo b | cinch append --log jobs"
            + " && cinch lease release && cinch lease release; echo $?; ls -d $CINCH_GRANT"
            + "; echo c | cinch append --log jobs; echo $?";
    Path said = temp.resolve("said");
    Process shell =
        new ProcessBuilder("sh", "-c", text.replace("cinch ", script + " "))
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    assertEquals(0, shell.waitFor(), Files.readString(said));
    String all = Files.readString(said);
    assertTrue(all.contains("an append under the leases goes on, or was killed"), all);
    assertTrue(all.contains("there is no grant in"), all);
    assertTrue(all.endsWith("\n3\n"), all);
    assertEquals("RELEASED", shown("jobs/2").get("state").textValue(), all);
    cinch.settle("jobs");
    assertEquals("a\nb\n", cinch.run("cat", "--log=jobs").ended(0).out());
  }

  @Test
  void aGrantThatIsGivenBackLetsNoAppendBegin() throws Exception {
    var id = dev.cinch.lease.Id.parse("0".repeat(31) + "1");
    var place = LeasePlace.parse(served.uri());
    var grant =
        GrantDirectory.make(id, place, Duration.ofSeconds(30), List.of(), name -> temp.toString());
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
}
