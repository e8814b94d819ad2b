package dev.cinch.sim.mutation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * Cinch with one rule broken: a class loader that has classes of its own for all of {@code
 * dev.cinch}, production and simulator alike, with the mutated ones compiled from the edited
 * sources. Thread-safe.
 */
final class Mutant extends ClassLoader {
  private static final String OURS = "dev.cinch.";

  static {
    registerAsParallelCapable();
  }

  private final Map<String, byte[]> mutated;

  private Mutant(Map<String, byte[]> mutated) {
    super(Mutant.class.getClassLoader());
    this.mutated = mutated;
  }

  /**
   * Compiles a mutation.
   *
   * @param root of the project's sources
   * @throws IllegalStateException if an edit doesn't fit its source, or the result doesn't compile
   */
  static Mutant of(Mutation mutation, Path root) throws IOException {
    var sources = new LinkedHashMap<String, String>();
    var names = new HashMap<String, String>();
    for (Mutation.Edit edit : mutation.edits()) {
      String text = sources.get(edit.source());
      if (text == null) {
        text = Files.readString(root.resolve(edit.source()));
      }
      sources.put(edit.source(), edit.applyTo(text));
      names.put(edit.source(), edit.className());
    }
    List<Source> units =
        sources.entrySet().stream()
            .map(e -> new Source(names.getOrDefault(e.getKey(), ""), e.getValue()))
            .toList();
    return new Mutant(compile(mutation, units));
  }

  /**
   * As {@link #of}, with all production sources of bagstore and aggregator compiled anew: the
   * compiler has put the values of constants into the classes that use them.
   */
  static Mutant ofAll(Mutation mutation, Path root) throws IOException {
    var units = new ArrayList<Source>();
    for (String module : List.of("bagstore", "aggregator")) {
      Path sources = root.resolve(module).resolve("src/main/java");
      try (Stream<Path> files = Files.walk(sources)) {
        for (Path file : files.filter(Mutant::isSource).sorted().toList()) {
          var whole = new Mutation.Edit(root.relativize(file).toString(), "", "", "");
          String text = Files.readString(file);
          for (Mutation.Edit edit : mutation.edits()) {
            text = edit.source().equals(whole.source()) ? edit.applyTo(text) : text;
          }
          units.add(new Source(whole.className(), text));
        }
      }
    }
    return new Mutant(compile(mutation, units));
  }

  private static boolean isSource(Path file) {
    return file.toString().endsWith(".java") && !file.endsWith("module-info.java");
  }

  private static Map<String, byte[]> compile(Mutation mutation, List<Source> units)
      throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    var messages = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        var memory = new Memory(files)) {
      List<String> options =
          List.of("-proc:none", "-nowarn", "-classpath", System.getProperty("java.class.path"));
      if (!compiler.getTask(messages, memory, null, options, null, units).call()) {
        throw new IllegalStateException(mutation.name() + " does not compile:\n" + messages);
      }
      var classes = new HashMap<String, byte[]>();
      memory.classes.forEach((name, bytes) -> classes.put(name, bytes.toByteArray()));
      return classes;
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(OURS)) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> known = findLoadedClass(name);
      return known != null ? known : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    byte[] bytes = mutated.get(name);
    if (bytes == null) {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (in == null) {
          throw new ClassNotFoundException(name);
        }
        bytes = in.readAllBytes();
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
    return defineClass(name, bytes, 0, bytes.length);
  }

  static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String className, String text) {
      super(
          URI.create("mutant:///" + className.replace('.', '/') + ".java"),
          JavaFileObject.Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }

  /** Keeps what is compiled. */
  private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
    private final Map<String, ByteArrayOutputStream> classes = new HashMap<>();

    Memory(JavaFileManager files) {
      super(files);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        Location location, String name, JavaFileObject.Kind kind, @Nullable FileObject sibling) {
      return new SimpleJavaFileObject(URI.create("mutant:///" + name), kind) {
        @Override
        public OutputStream openOutputStream() {
          var bytes = new ByteArrayOutputStream();
          classes.put(name, bytes);
          return bytes;
        }
      };
    }
  }
}
