package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import dev.cinch.cli.lease.LeaseRunCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The command line at work beside the test: in a process of its own, with the signals that it would
 * have on a terminal, or within this process, which starts at once and can't be killed.
 */
public final class Forked implements AutoCloseable {
  private final @Nullable Process forked;
  private final OutputStream in;
  private final BufferedReader out;
  private final BufferedReader err;

  // Within this process.
  private final Stop stop = Stop.byHand(System::nanoTime, code -> {});
  private final CompletableFuture<Integer> code = new CompletableFuture<>();
  private final @Nullable Thread thread;
  private boolean interrupted;

  public Forked(String... args) throws IOException {
    this(List.of(), args);
  }

  /** With options of the JVM. */
  public Forked(List<String> options, String... args) throws IOException {
    var command = new ArrayList<String>();
    if (Files.isExecutable(Path.of("/usr/bin/env"))) {
      // A test that a script runs in the background was told to ignore SIGINT, and so are its
      // children.
      command.addAll(List.of("/usr/bin/env", "--default-signal=INT,TERM"));
    }
    if (LeaseRunCommand.end(List.of(args)) >= 0) {
      command.add(ArchivedClasses.launcher().toString());
    } else {
      command.addAll(ArchivedClasses.command());
      command.addAll(options);
      command.add(Main.class.getName());
    }
    command.addAll(List.of(args));
    Process process = new ProcessBuilder(command).start();
    forked = process;
    thread = null;
    in = process.getOutputStream();
    out = process.inputReader(UTF_8);
    err = process.errorReader(UTF_8);
  }

  private Forked(Pipe input, Pipe output, Pipe errors, String... args) {
    forked = null;
    in = Channels.newOutputStream(input.sink());
    out = new BufferedReader(Channels.newReader(output.source(), UTF_8));
    err = new BufferedReader(Channels.newReader(errors.source(), UTF_8));
    var io =
        new Io(
            Channels.newInputStream(input.source()),
            Channels.newOutputStream(output.sink()),
            new PrintStream(Channels.newOutputStream(errors.sink()), true, UTF_8),
            name -> null,
            false,
            false,
            stop);
    thread =
        new Thread(
            () -> {
              try (var unused = output.sink();
                  var both = errors.sink()) {
                code.complete(Main.run(args, io));
              } catch (IOException | RuntimeException | Error e) {
                code.completeExceptionally(e);
              }
            },
            "cinch " + args[0]);
    thread.start();
  }

  /** Within this process: for commands that end by themselves or hear {@code SIGTERM}. */
  public static Forked here(String... args) throws IOException {
    return new Forked(Pipe.open(), Pipe.open(), Pipe.open(), args);
  }

  /** Within this process: for commands that would go on for ever, and are interrupted instead. */
  public static Forked endless(String... args) throws IOException {
    Forked here = here(args);
    here.interrupted = true;
    return here;
  }

  /** Starts a lease service on the store, and says where. */
  public static Forked serve(Path temp, Path store, String... options) throws IOException {
    return new Forked(serving(temp, store, options));
  }

  /** The same within this process. */
  public static Forked serveHere(Path temp, Path store, String... options) throws IOException {
    return here(serving(temp, store, options));
  }

  private static String[] serving(Path temp, Path store, String... options) {
    var args = new ArrayList<>(List.of("serve", "--port=0", "--store=" + store));
    args.add("--key=" + temp.resolve("served.key"));
    args.addAll(List.of(options));
    return args.toArray(String[]::new);
  }

  private Process process() {
    return Objects.requireNonNull(forked, "no process of its own");
  }

  /** The address in the first line of a {@code serve}. */
  public String listening() throws IOException {
    String line = line();
    String start = "listening on ";
    if (!line.startsWith(start)) {
      throw new IOException("serve said: " + line + "; " + err());
    }
    return line.substring(start.length());
  }

  /** Writes to its standard input. */
  public void type(String text) throws IOException {
    in.write(text.getBytes(UTF_8));
    in.flush();
  }

  /** Ends its input. */
  public void endInput() throws IOException {
    in.close();
  }

  /** Waits for a line of its output. */
  public String line() throws IOException {
    String line = out.readLine();
    if (line == null) {
      throw new IOException("it ended; " + err());
    }
    return line;
  }

  /** The rest of its output. */
  public List<String> rest() {
    return out.lines().toList();
  }

  /** Waits until one of its threads is in a method of this name. */
  public void awaitStack(String method) throws IOException, InterruptedException {
    String jstack = Path.of(System.getProperty("java.home"), "bin", "jstack").toString();
    String stacks = "";
    while (!stacks.contains(method)) {
      if (thread != null) {
        assertTrue(thread.isAlive(), this::err);
        stacks = Arrays.toString(thread.getStackTrace());
        continue;
      }
      if (!process().isAlive()) {
        throw new IOException("it ended; " + err());
      }
      Process asked =
          new ProcessBuilder(jstack, "" + process().pid()).redirectErrorStream(true).start();
      stacks = new String(asked.getInputStream().readAllBytes(), UTF_8);
    }
  }

  /** Sends a signal by name. */
  public void signal(String name) throws IOException, InterruptedException {
    if (forked == null) {
      assertEquals("TERM", name);
      stop.arrived(Stop.SIGTERM);
      return;
    }
    assertEquals(
        0, new ProcessBuilder("kill", "-" + name, "" + process().pid()).start().waitFor(), "kill");
  }

  /** Sends a signal again and again. */
  public void signalUntilItEnds(String name) throws IOException, InterruptedException {
    while (!process().waitFor(10, TimeUnit.MILLISECONDS)) {
      // It may end in between: then nobody hears it.
      int unused = new ProcessBuilder("kill", "-" + name, "" + process().pid()).start().waitFor();
    }
  }

  /** What Java it started, as the launcher does for a command under leases. */
  public ProcessHandle java() {
    return process()
        .children()
        .filter(child -> child.info().command().orElse("").endsWith("java"))
        .findAny()
        .orElseThrow();
  }

  /** Its guard, which may be about to take that name; the command has begun. */
  public ProcessHandle guard() throws IOException {
    while (true) {
      for (ProcessHandle child : process().children().toList()) {
        Path line = Path.of("/proc", "" + child.pid(), "cmdline");
        if (Files.exists(line) && Files.readString(line).startsWith("cinch guard\0")) {
          return child;
        }
      }
    }
  }

  /** Sends signals to several at once. */
  public static void signal(String name, long... pids) throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of("kill", "-" + name));
    for (long pid : pids) {
      command.add("" + pid);
    }
    assertEquals(0, new ProcessBuilder(command).start().waitFor(), "kill");
  }

  public long pid() {
    return process().pid();
  }

  /** Waits for its end; its exit code, 128 and the signal's number if one ended it. */
  public int await() throws InterruptedException {
    return forked == null ? code.join() : forked.waitFor();
  }

  /** Waits for its end, and asserts how it ended. */
  public void ended(int code) throws InterruptedException {
    assertEquals(code, await());
  }

  /** Waits for a line on standard error. */
  public String errLine() throws IOException {
    return String.valueOf(err.readLine());
  }

  /** What it says on standard error from now on until it ends, a newline after each line. */
  public String err() {
    return err.lines().map(line -> line + "\n").collect(Collectors.joining());
  }

  /** Kills it, or tells it to end, if it has not ended. */
  @Override
  public void close() throws InterruptedException {
    if (thread != null && interrupted) {
      thread.interrupt();
    } else if (forked == null) {
      stop.arrived(Stop.SIGTERM);
    } else {
      forked.destroyForcibly();
    }
    int unused = await();
  }
}
