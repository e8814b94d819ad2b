package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * Stands between one process and a filesystem: records every operation, and makes one of them fail
 * or the process stop at it. Thread-safe as far as the trace goes.
 */
public final class FaultyFs implements StoreFs {
  /** What an operation is. */
  public enum Kind {
    MKDIR,
    RMDIR,
    CREATE,
    OVERWRITE,
    READ,
    READ_UNCACHED,
    STATUS,
    LIST,
    LINK,
    CHMOD,
    UNLINK,
    FORCE_DIRECTORY,
    WRITE,
    FORCE,
    GET,
    CLOSE
  }

  /** What happens at the chosen operation. */
  public enum Fault {
    ERROR_BEFORE,
    ERROR_AFTER,
    /** A write stores half of its bytes and fails; anything else fails after it took effect. */
    ERROR_PARTIAL,
    CRASH_BEFORE,
    CRASH_AFTER,
    /** As {@link #ERROR_PARTIAL}, and the process ends. */
    CRASH_PARTIAL;

    /** Whether the process ends. */
    public boolean crashes() {
      return this == CRASH_BEFORE || this == CRASH_AFTER || this == CRASH_PARTIAL;
    }
  }

  /** One operation. */
  public record Op(Kind kind, Path path) {
    /** Whether it is of the kind and concerns a path whose name begins or ends so. */
    public boolean is(Kind wanted, String name) {
      String last = String.valueOf(path.getFileName());
      return kind == wanted && (last.startsWith(name) || last.endsWith(name));
    }
  }

  /** The process ended; nothing may catch this but the test. */
  public static final class Crash extends Error {
    private static final long serialVersionUID = 1;

    Crash() {
      super("the process ended", null, false, false);
    }
  }

  /** Told of every operation before it happens; may wait or change the disk. */
  @FunctionalInterface
  public interface Before {
    void operation(Op op) throws Exception;
  }

  private final StoreFs inner;
  private final List<Op> trace = new ArrayList<>();
  private volatile Before before = op -> {};
  private volatile Before after = op -> {};
  private final AtomicInteger open = new AtomicInteger();
  private Predicate<Op> counted = op -> true;
  private Fault fault = Fault.ERROR_BEFORE;
  private int countdown;
  private volatile boolean fired;
  private volatile boolean crashed;

  public FaultyFs(StoreFs inner) {
    this.inner = inner;
  }

  /** Lets the k-th operation from now fail so. */
  public synchronized void arm(int k, Fault what) {
    arm(k, what, op -> true);
  }

  /** Lets the k-th operation of those that match fail so. */
  public synchronized void arm(int k, Fault what, Predicate<Op> which) {
    countdown = k;
    fault = what;
    counted = which;
    fired = false;
  }

  /** Nothing fails any more, unless the process has ended. */
  public synchronized void disarm() {
    countdown = 0;
  }

  public void before(Before hook) {
    before = hook;
  }

  /** As {@link #before(Before)}, told after the operation took effect. */
  public void after(Before hook) {
    after = hook;
  }

  /** How many files are open. */
  public int openFiles() {
    return open.get();
  }

  /** What a test does in the middle of an operation of another process. */
  @FunctionalInterface
  public interface Interruption {
    void run() throws Exception;
  }

  /** Does something just before the first operation that matches. */
  public void beforeFirst(Predicate<Op> which, Interruption what) {
    var done = new AtomicBoolean();
    before(
        op -> {
          if (which.test(op) && done.compareAndSet(false, true)) {
            what.run();
          }
        });
  }

  /** Ends the process at its next operation. */
  public void crash() {
    crashed = true;
  }

  /** Whether the chosen operation was reached. */
  public boolean fired() {
    return fired;
  }

  public synchronized List<Op> trace() {
    return List.copyOf(trace);
  }

  public synchronized void clearTrace() {
    trace.clear();
  }

  /** How many operations of each kind there were. */
  public synchronized Map<Kind, Integer> counts() {
    var counts = new EnumMap<Kind, Integer>(Kind.class);
    trace.forEach(op -> counts.merge(op.kind(), 1, Integer::sum));
    return counts;
  }

  private static void tell(Before hook, Op op) throws IOException {
    try {
      hook.operation(op);
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private boolean enter(Op op) throws IOException {
    if (crashed) {
      throw new Crash();
    }
    tell(before, op);
    if (crashed) {
      throw new Crash();
    }
    synchronized (this) {
      trace.add(op);
      if (countdown == 0 || !counted.test(op) || --countdown > 0) {
        return false;
      }
      fired = true;
      if (fault == Fault.ERROR_BEFORE) {
        throw new IOException("injected before " + op);
      }
      if (fault == Fault.CRASH_BEFORE) {
        crashed = true;
        throw new Crash();
      }
      return true;
    }
  }

  private void leave(boolean hit, Op op) throws IOException {
    if (hit) {
      if (fault.crashes()) {
        crashed = true;
        throw new Crash();
      }
      throw new IOException("injected after " + op);
    }
  }

  /** It took effect. */
  private void done(boolean hit, Op op) throws IOException {
    leave(hit, op);
    tell(after, op);
  }

  private interface Action<T> {
    T run() throws IOException;
  }

  private <T> T run(Kind kind, Path path, Action<T> action) throws IOException {
    var op = new Op(kind, path);
    boolean hit = enter(op);
    T result;
    try {
      result = action.run();
    } catch (IOException e) {
      leave(hit, op); // it failed by itself, and that is no reason to go on
      throw e;
    }
    boolean left = false;
    try {
      done(hit, op);
      left = true;
    } finally {
      if (!left && result instanceof Handle handle) {
        handle.free(); // nobody was given it
      }
    }
    return result;
  }

  private interface Effect {
    void run() throws IOException;
  }

  private void act(Kind kind, Path path, Effect effect) throws IOException {
    boolean done =
        run(
            kind,
            path,
            () -> {
              effect.run();
              return true;
            });
    if (!done) {
      throw new IllegalStateException();
    }
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    act(Kind.MKDIR, directory, () -> inner.mkdir(directory, mode));
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    act(Kind.RMDIR, directory, () -> inner.rmdir(directory));
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    return run(Kind.CREATE, file, () -> new Handle(inner.create(file, mode), file));
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return run(Kind.OVERWRITE, file, () -> new Handle(inner.overwrite(file), file));
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return run(Kind.READ, file, () -> new Handle(inner.read(file), file));
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return run(Kind.READ_UNCACHED, file, () -> new Handle(inner.readUncached(file), file));
  }

  @Override
  public boolean isLocal(Path file) throws IOException {
    return inner.isLocal(file);
  }

  @Override
  public boolean readsReachServer(Path file) throws IOException {
    return inner.readsReachServer(file);
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return run(Kind.STATUS, path, () -> inner.status(path));
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    return run(Kind.LIST, directory, () -> inner.list(directory));
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    act(Kind.LINK, name, () -> inner.link(existing, name));
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    act(Kind.CHMOD, path, () -> inner.chmod(path, mode));
  }

  @Override
  public void unlink(Path file) throws IOException {
    act(Kind.UNLINK, file, () -> inner.unlink(file));
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    act(Kind.FORCE_DIRECTORY, directory, () -> inner.forceDirectory(directory));
  }

  private final class Handle implements StoreFile {
    private final StoreFile file;
    private final Path path;
    private final AtomicBoolean closed = new AtomicBoolean();

    Handle(StoreFile file, Path path) {
      this.file = file;
      this.path = path;
      open.incrementAndGet();
    }

    void free() throws IOException {
      if (closed.compareAndSet(false, true)) {
        open.decrementAndGet();
      }
      file.close();
    }

    @Override
    public void write(ByteBuffer... buffers) throws IOException {
      var op = new Op(Kind.WRITE, path);
      boolean hit = enter(op);
      if (hit && (fault == Fault.ERROR_PARTIAL || fault == Fault.CRASH_PARTIAL)) {
        int total = 0;
        for (ByteBuffer b : buffers) {
          total += b.remaining();
        }
        var half = new byte[total / 2];
        int filled = 0;
        for (ByteBuffer b : buffers) {
          int n = Math.min(b.remaining(), half.length - filled);
          b.get(half, filled, n);
          filled += n;
        }
        file.write(ByteBuffer.wrap(half));
      } else {
        file.write(buffers);
      }
      done(hit, op);
    }

    @Override
    public void force() throws IOException {
      act(Kind.FORCE, path, file::force);
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      return run(Kind.GET, path, () -> file.read(into, offset));
    }

    @Override
    public long size() throws IOException {
      return run(Kind.STATUS, path, file::size);
    }

    @Override
    public void close() throws IOException {
      if (crashed) {
        free(); // the kernel closes what a process leaves open
        throw new Crash();
      }
      var op = new Op(Kind.CLOSE, path);
      boolean hit;
      try {
        hit = enter(op);
      } finally {
        free();
      }
      done(hit, op);
    }
  }
}
