package dev.cinch.lease.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tokens, their file, and what callers may do. */
final class AccessTest {
  private static final Optional<Instant> NEVER = Optional.empty();
  private static final Instant MADE = Instant.parse("2026-01-01T00:00:00Z");

  private final ManualTime time = new ManualTime();
  @TempDir Path directory;

  private TokenFile file() {
    return new TokenFile(directory.resolve("tokens"));
  }

  private static List<Permission> rights(String... texts) {
    return Arrays.stream(texts).map(Permission::parse).toList();
  }

  private static Operation acquire(String... names) {
    var all = Arrays.stream(names).map(LeaseName::new).toList();
    return new Operation.Acquire(new Id(0, 1), all, "me", 1_000, LogSet.ALL, false);
  }

  private static Operation revoke(String name) {
    return new Operation.Revoke(new LeaseName(name), "why", Optional.empty());
  }

  private static boolean may(Caller caller, Operation operation) {
    return caller.refusal(operation).isEmpty();
  }

  private static boolean sees(Caller caller, String beginning) {
    return caller.refusal(Right.OBSERVE, beginning).isEmpty();
  }

  private static Caller caller(Access access, String token) {
    return access.caller(List.of("Bearer " + token), "10.0.0.3", Optional.empty());
  }

  @Test
  void rightsAreOnNamesThatBeginSo() {
    var caller = new Caller("ci", null, rights("acquire:jobs/", "observe:app/"));
    assertTrue(may(caller, acquire("jobs/1", "jobs/2")));
    assertFalse(may(caller, acquire("jobs/1", "job")));
    assertFalse(may(caller, acquire("app/1")));
    assertFalse(may(caller, revoke("jobs/1")));
    assertTrue(sees(caller, "jobs/1"));
    assertTrue(sees(caller, "app/"));
    assertFalse(sees(caller, "app"));
    assertFalse(sees(caller, ""));
    assertTrue(may(caller, new Operation.Release(new Id(0, 1), LeaseReport.NOTHING)));
  }

  @Test
  void theRightThatIsMissingIsNamed() {
    var caller = new Caller("token 1f2e3d4c (ci)", "10.0.0.3", rights("acquire:ci/", "observe"));
    assertEquals(
        "this needs the right revoke:jobs/42; it was sent by token 1f2e3d4c (ci) at 10.0.0.3, which"
            + " has acquire:ci/, observe",
        caller.refusal(revoke("jobs/42")).orElseThrow().getMessage());
  }

  @Test
  void oneWhoOnlySeesKeepsNothing() {
    var caller = new Caller("screen", null, rights("observe", "revoke:a/"));
    var keep = new Operation.Renew(new Id(0, 1), 1_000, LogSet.NONE, LeaseReport.NOTHING);
    assertFalse(may(caller, keep));
    assertFalse(may(caller, new Operation.Upgrade(new Id(0, 1), 1_000)));
    assertTrue(may(caller, revoke("a/1")));
    assertFalse(may(caller, revoke("b/1")));
  }

  @Test
  void aGrantIsOfNobodyWithoutTheRightToEachOfItsLeases() throws Exception {
    Operation.Scope scope = new Caller("ci", null, rights("acquire:ci/", "observe")).scope();
    scope.require(List.of(new LeaseName("ci/1"), new LeaseName("ci/2")));
    for (List<String> names : List.of(List.of("ci/1", "jobs/1"), List.of("jobs/1", "ci/1"))) {
      var e =
          assertThrows(
              LeaseRefusedException.class,
              () -> scope.require(names.stream().map(LeaseName::new).toList()));
      assertEquals(LeaseRefusedException.Reason.FORBIDDEN, e.reason());
    }
  }

  @Test
  void anAdminMayAll() {
    var admin = new Caller("me", null, rights("admin"));
    assertTrue(may(admin, acquire("a")) && may(admin, revoke("a")) && sees(admin, ""));
  }

  @Test
  void withoutATokenNobodyRevokes() throws IOException {
    for (Access access : List.of(Access.withoutTokens(), Access.of(file(), true, time))) {
      Caller anybody = access.caller(List.of(), null, Optional.empty());
      assertTrue(may(anybody, acquire("a")) && sees(anybody, ""));
      assertFalse(may(anybody, revoke("a")));
    }
    Caller stranger = Access.of(file(), false, time).caller(List.of(), null, Optional.empty());
    assertFalse(may(stranger, acquire("a")) || sees(stranger, "a") || may(stranger, revoke("a")));
  }

  @Test
  void rightsAsText() {
    for (String text : List.of("observe", "acquire:jobs/", "revoke:a.b", "admin")) {
      assertEquals(text, Permission.parse(text).toString());
    }
    assertEquals(Permission.parse("observe"), Permission.parse("observe:"));
    for (String wrong : List.of("", "write", "Acquire", "admin:a", "acquire:/a", "acquire:a b")) {
      assertThrows(IllegalArgumentException.class, () -> Permission.parse(wrong), wrong);
    }
  }

  @Test
  void aTokenIsKnownByWhatOnlyItsOwnerHas() throws IOException {
    String token = file().add("ci", rights("acquire:jobs/"), MADE, NEVER);
    String other = file().add("", rights("admin"), MADE, NEVER);
    assertNotEquals(token, other);
    String text = Files.readString(directory.resolve("tokens"));
    assertFalse(text.contains(token.substring(15)), text);
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("tokens"))));

    Access access = Access.of(file(), true, time);
    assertTrue(may(caller(access, token), acquire("jobs/1")));
    assertFalse(may(caller(access, token), acquire("app/1")), "less than without one");
    assertEquals("token " + file().read().get(0).id() + " (ci)", caller(access, token).who());
    char last = token.charAt(token.length() - 1);
    String wrong = token.substring(0, token.length() - 1) + (last == 'A' ? 'B' : 'A');
    for (String no : List.of(wrong, token + "A", token.substring(0, 14), "", "cinch_", "x")) {
      assertFalse(may(caller(access, no), acquire("jobs/1")), no);
    }
    for (var headers : List.of(List.of(token), List.of("Basic " + token), List.of("", ""))) {
      assertFalse(
          may(access.caller(headers, null, Optional.empty()), acquire("jobs/1")),
          headers.toString());
    }
    assertTrue(
        may(access.caller(List.of("bearer  " + token), null, Optional.empty()), acquire("jobs/1")));
  }

  @Test
  void aCertificateMayStandForOne() throws IOException {
    String id = file().addCertificate("web-1", "front", rights("acquire:web/"), MADE, NEVER);
    String token = file().add("", rights("acquire:ci/"), MADE, NEVER);
    assertThrows(
        IllegalArgumentException.class,
        () -> file().addCertificate("web-1", "", rights("admin"), MADE, NEVER));
    Access access = Access.of(file(), false, time);
    Caller web = access.caller(List.of(), "10.0.0.3", Optional.of("web-1"));
    assertEquals("certificate web-1 (front) at 10.0.0.3", web.toString());
    assertTrue(may(web, acquire("web/1")));
    assertFalse(may(web, acquire("ci/1")));
    for (String other : List.of("web-2", id, "")) {
      Caller caller = access.caller(List.of(), null, Optional.of(other));
      assertFalse(may(caller, acquire("web/1")), other);
    }
    Caller both = access.caller(List.of("Bearer " + token), null, Optional.of("web-1"));
    assertTrue(may(both, acquire("ci/1")), "the token counts");
    assertFalse(may(both, acquire("web/1")));
    for (String secret : List.of(id + "_", id + "_x", "CN=web-1", "CN=web-1_", "CN=web-1_x")) {
      assertFalse(may(caller(access, "cinch_" + secret), acquire("web/1")), secret);
    }
  }

  @Test
  void theFirstOneIsMadeOnce() throws IOException {
    Optional<String> first = file().addFirst("first", rights("admin"), MADE);
    assertEquals(Optional.empty(), file().addFirst("second", rights("admin"), MADE));
    Access access = Access.of(file(), false, time);
    assertTrue(may(caller(access, first.orElseThrow()), revoke("a")));
    assertEquals(1, file().read().size());
  }

  @Test
  void threadsAddOneAfterTheOther() throws Exception {
    var made = new ConcurrentLinkedQueue<Optional<String>>();
    var threads = new ArrayList<Thread>();
    var failed = new ConcurrentLinkedQueue<Throwable>();
    for (int i = 0; i < 8; i++) {
      var thread =
          new Thread(
              () -> {
                try {
                  made.add(file().addFirst("", rights("admin"), MADE));
                  String unused = file().add("", rights("observe"), MADE, NEVER);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      thread.setUncaughtExceptionHandler((t, e) -> failed.add(e));
      threads.add(thread);
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(List.of(), List.copyOf(failed));
    // Whoever adds before another's first makes the file, which then has no first any more.
    assertTrue(made.stream().filter(Optional::isPresent).count() <= 1);
    assertEquals(8 + made.stream().filter(Optional::isPresent).count(), file().read().size());
  }

  @Test
  void aTokenEnds() throws IOException {
    Instant now = Instant.ofEpochSecond(0, time.wallNanos());
    String token = file().add("", rights("acquire"), now, Optional.of(now.plusSeconds(10)));
    Access access = Access.of(file(), true, time);
    time.advanceMs(9_999);
    assertTrue(may(caller(access, token), acquire("a")));
    time.advanceMs(1);
    assertFalse(may(caller(access, token), acquire("a")));
    assertTrue(caller(access, token).toString().contains("which ended at "));
  }

  @Test
  void changesCountOnceTheFileIsReadAgain() throws IOException {
    Access access = Access.of(file(), false, time);
    String token = file().add("", rights("acquire"), MADE, NEVER);
    access.reload();
    assertTrue(may(caller(access, token), acquire("a")));
    String id = file().read().get(0).id();
    assertTrue(file().remove(id));
    assertFalse(file().remove(id));
    access.reload();
    assertFalse(may(caller(access, token), acquire("a")));
  }

  @Test
  void aFileThatIsHalfWrittenChangesNothing() throws IOException {
    String token = file().add("", rights("acquire"), MADE, NEVER);
    Access access = Access.of(file(), false, time);
    byte[] whole = Files.readAllBytes(file().path());
    for (int length = 0; length < whole.length - 2; length++) {
      Files.write(file().path(), Arrays.copyOf(whole, length));
      access.reload();
      assertTrue(may(caller(access, token), acquire("a")), "cut after " + length);
      IOException e = assertThrows(IOException.class, () -> file().read());
      assertTrue(String.valueOf(e.getMessage()).contains(file().path().toString()), e::getMessage);
      assertEquals(1, String.valueOf(e.getMessage()).lines().count());
    }
    Files.delete(file().path());
    access.reload();
    assertFalse(may(caller(access, token), acquire("a")), "without a file no token counts");
  }
}
