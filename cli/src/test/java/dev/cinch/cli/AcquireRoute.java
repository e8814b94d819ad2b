package dev.cinch.cli;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Which types of ours an acquire passes. A lease server with a store and its clients are loaded
 * anew with a call at the beginning of each method. One acquire comes after the other, each by a
 * new client, so each connects. What the test's thread enters is the client's. What the threads
 * enter that serve connections is the server's. Threads that look after something now and then
 * don't count: {@link #ASIDE}. A type counts that most acquires pass after the first one, which
 * loads classes.
 */
public final class AcquireRoute {
  private static final int COUNTED = 5;

  /** Threads of the server that carry out no request: what they do depends on the time. */
  private static final Pattern ASIDE = Pattern.compile("cinch(?!-lease-server).*");

  private static final Map<String, Set<Integer>> CLIENT = new ConcurrentHashMap<>();
  private static final Map<String, Set<Integer>> SERVER = new ConcurrentHashMap<>();

  private static volatile int acquire;

  private AcquireRoute() {}

  /** Names of types, nested ones too. */
  record Passed(Set<String> client, Set<String> server) {}

  static Passed run(Path temp, Path store) throws Exception {
    Class<?> acquires = new Counted().loadClass(Acquires.class.getName());
    var run =
        (Callable<?>) acquires.getConstructor(Path.class, Path.class).newInstance(temp, store);
    Object unused = run.call();
    return new Passed(usual(CLIENT), usual(SERVER));
  }

  private static Set<String> usual(Map<String, Set<Integer>> passed) {
    return passed.entrySet().stream()
        .filter(e -> e.getValue().size() > COUNTED / 2)
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  /** Called by each method of what was loaded anew. */
  public static void entered(String type) {
    String thread = Thread.currentThread().getName();
    if (acquire > 0 && acquire <= COUNTED && !ASIDE.matcher(thread).matches()) {
      (thread.equals("acquires") ? CLIENT : SERVER)
          .computeIfAbsent(type, t -> ConcurrentHashMap.newKeySet())
          .add(acquire);
    }
  }

  public static void next(int next) {
    acquire = next;
  }

  /** Loaded anew with all that it calls. */
  public record Acquires(Path temp, Path store) implements Callable<Integer> {
    @Override
    public Integer call() throws Exception {
      String name = Thread.currentThread().getName();
      Thread.currentThread().setName("acquires");
      try (Forked serve = Forked.serveHere(temp, store);
          var keeper = LeaseKeeper.stepped(SystemTime.INSTANCE)) {
        URI address = URI.create(serve.listening());
        for (int i = 0; i <= COUNTED; i++) {
          AcquireRoute.next(i);
          var unused =
              keeper.acquire(
                  ShardRouter.of(address),
                  List.of(new LeaseName("shape/" + i)),
                  "shape",
                  Duration.ofSeconds(30),
                  Duration.ZERO,
                  (names, why) -> {});
        }
        AcquireRoute.next(COUNTED + 1);
      } finally {
        Thread.currentThread().setName(name);
      }
      return COUNTED;
    }
  }

  /** Loads classes of ours with that call. */
  private static final class Counted extends ClassLoader {
    Counted() {
      super(AcquireRoute.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("dev.cinch.") || name.equals(AcquireRoute.class.getName())) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded != null ? loaded : load(name);
      }
    }

    private Class<?> load(String name) throws ClassNotFoundException {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (in == null) {
          throw new ClassNotFoundException(name);
        }
        var reader = new ClassReader(in);
        var writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(calling(writer, name), 0);
        return defineClass(name, writer.toByteArray(), 0, writer.toByteArray().length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }

    private static ClassVisitor calling(ClassWriter writer, String type) {
      return new ClassVisitor(Opcodes.ASM9, writer) {
        @Override
        public MethodVisitor visitMethod(
            int access, String method, String descriptor, String signature, String[] exceptions) {
          return new MethodVisitor(
              Opcodes.ASM9, super.visitMethod(access, method, descriptor, signature, exceptions)) {
            @Override
            public void visitCode() {
              super.visitCode();
              super.visitLdcInsn(type);
              String here = AcquireRoute.class.getName().replace('.', '/');
              super.visitMethodInsn(
                  Opcodes.INVOKESTATIC, here, "entered", "(Ljava/lang/String;)V", false);
            }
          };
        }
      };
    }
  }
}
