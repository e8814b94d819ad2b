package dev.cinch.examples;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogSurvey;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.storage.posix.PosixStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** All that read the log {@code jobs} of a store, by the names of their commands. */
final class Readers {
  private static final LogName JOBS = new LogName("jobs");

  private final Path root;
  private final Store.Environment environment;
  private final PythonReader python;
  private final Map<String, Reading> all = new LinkedHashMap<>();

  /**
   * What a reader said.
   *
   * @param lines messages, or what else it is asked for
   * @param damage files that it says are damaged, and goes on
   * @param error that it ended with; null if it came to its end
   */
  record Answer(List<String> lines, List<Path> damage, @Nullable Exception error) {
    /** Whether it said that anything is wrong. */
    boolean told() {
      return error != null || !damage.isEmpty();
    }
  }

  private interface Reading {
    void of(List<String> lines, List<Path> damage) throws IOException;
  }

  private interface Range {
    void read(long from, long to, MessageSink sink, LogReader.Objection objection)
        throws IOException;
  }

  /**
   * @param times where short ranges begin, nanoseconds
   * @param length of each
   */
  Readers(
      Path root,
      Store.Environment environment,
      PythonReader python,
      List<Long> times,
      long length) {
    this.root = root;
    this.environment = environment;
    this.python = python;
    all.put("cat", settled(Long.MIN_VALUE, Long.MAX_VALUE));
    all.put("cat --live", (lines, damage) -> messages(lines, open().reader()::live));
    for (long from : times) {
      all.put("cat --from=" + from, settled(from, from + length));
    }
    all.put("verify", (lines, damage) -> verify(damage));
    all.put("audit", (lines, damage) -> audit(lines));
    all.put("salvage", this::salvage);
    all.put("cat --tail", (lines, damage) -> counts(lines, open().reader()));
    all.put("status", (lines, damage) -> lines.add("" + new LogSurvey(open().context()).look()));
    all.put("reader.py", (lines, damage) -> lines.addAll(python.read(root)));
  }

  List<String> names() {
    return List.copyOf(all.keySet());
  }

  Answer ask(String name) {
    var lines = new ArrayList<String>();
    var damage = new ArrayList<Path>();
    try {
      all.getOrDefault(name, (l, d) -> {}).of(lines, damage);
    } catch (IOException | RuntimeException e) {
      return new Answer(lines, damage, e);
    }
    return new Answer(lines, damage, null);
  }

  private Log open() throws IOException {
    return Store.open(root, environment).log(JOBS);
  }

  private Reading settled(long from, long to) {
    return (lines, damage) ->
        messages(lines, (f, t, m, o) -> open().reader().settled(from, to, true, m, o));
  }

  private static void messages(List<String> lines, Range range) throws IOException {
    range.read(
        Long.MIN_VALUE,
        Long.MAX_VALUE,
        m -> lines.add(line(m)),
        (m, file, why) -> lines.add("ignored: " + line(m)));
  }

  private static String line(Message m) {
    String text = new String(m.payload(), StandardCharsets.UTF_8);
    String where = m.timestamp() + " " + m.file() + " " + m.position();
    return where + (m.settled() ? " settled " : " open ") + m.leases().size() + " " + text;
  }

  private void verify(List<Path> damage) throws IOException {
    var unused =
        StoreVerifier.verify(
            root,
            environment,
            f -> {
              if (f.severity() == Finding.Severity.DAMAGE) {
                damage.add(f.path().path());
              }
            });
  }

  private void audit(List<String> lines) throws IOException {
    LeaseAuditor.audit(Store.open(root, environment)).violations().stream()
        .map(String::valueOf)
        .forEach(lines::add);
  }

  private void salvage(List<String> lines, List<Path> damage) throws IOException {
    long unused =
        Salvage.run(
            PosixStore.unread(new PosixFs(null, null), root),
            new StoreLayout(root).log(JOBS),
            new SalvageSink() {
              @Override
              public void message(Salvaged m) {
                String text = new String(m.payload(), StandardCharsets.UTF_8);
                lines.add(m.timestamp() + " " + m.file() + " " + m.position() + " " + text);
              }

              @Override
              public void left(Kind kind, Name path, long offset, long length, String why) {
                if (kind == Kind.DAMAGE) {
                  damage.add(path.path());
                }
              }
            });
  }

  /** What {@code --tail} goes by. */
  private static void counts(List<String> lines, LogReader reader) throws IOException {
    for (int last = 1; last < 24; last += 4) { // up to more than there are
      lines.add(last + ": " + reader.startOfLast(last, Long.MAX_VALUE));
    }
    lines.add("expired: " + reader.expired());
  }
}
