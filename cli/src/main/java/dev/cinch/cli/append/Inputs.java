package dev.cinch.cli.append;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Files that are read one after the other, and where each of their lines is. Lines are numbered
 * through all of them; people are told a file's own numbers. One thread reads; any may ask where a
 * line is that was read.
 */
final class Inputs implements AutoCloseable {
  private final List<String> names;
  private final InputStream standard;
  private final CopyOnWriteArrayList<Long> firsts = new CopyOnWriteArrayList<>();
  private final byte @Nullable [] endLine;
  private @Nullable InputStream current;

  /**
   * @param names of files; {@code -} is standard input
   * @param endLine the line that ends them; null if their ends do
   */
  Inputs(List<String> names, InputStream standard, @Nullable String endLine) {
    this.names = List.copyOf(names);
    this.standard = standard;
    this.endLine = endLine == null ? null : endLine.getBytes(UTF_8);
  }

  /** Those that end as files do. */
  Inputs(List<String> names, InputStream standard) {
    this(names, standard, null);
  }

  /** Of one stream. */
  static Inputs of(InputStream in) {
    return new Inputs(List.of("-"), in);
  }

  /** Refuses what can't be read, before anything is appended of what stands before it. */
  void check() throws IOException {
    for (String name : names) {
      if (!name.equals("-") && Files.notExists(Path.of(name))) {
        throw new NoSuchFileException(name);
      } else if (!name.equals("-") && Files.isDirectory(Path.of(name))) {
        throw new IOException(name + " is a directory; name files, like " + name + "/*");
      } else if (!name.equals("-") && !Files.isReadable(Path.of(name))) {
        throw new AccessDeniedException(name);
      }
    }
  }

  /**
   * Ends the present one and opens the next.
   *
   * @param line the number of its first line
   * @return null if there is none
   */
  @Nullable InputStream next(long line) throws IOException {
    close();
    int n = firsts.size();
    if (n == names.size()) {
      return null;
    }
    firsts.add(line);
    String name = names.get(n);
    current = name.equals("-") ? standard : Files.newInputStream(Path.of(name));
    return current;
  }

  /** The line that ends them, and is none of theirs; null if their ends do. */
  byte @Nullable [] endLine() {
    return endLine;
  }

  @Override
  public void close() throws IOException {
    InputStream open = current;
    current = null;
    if (open != null && open != standard) {
      open.close();
    }
  }

  /** Whether people have to be told of which one a line is. */
  boolean areSeveral() {
    return names.size() > 1;
  }

  private int of(long line) {
    int n = 0;
    while (n + 1 < firsts.size() && firsts.get(n + 1) <= line) {
      n++;
    }
    return n;
  }

  /** The file that a line is in. */
  String name(long line) {
    return names.get(of(line));
  }

  /** Its number there, from 1. */
  long number(long line) {
    return line - firsts.get(of(line)) + 1;
  }

  /** Both, as compilers write it; the number alone where there is one file. */
  String place(long line) {
    return areSeveral() ? name(line) + ":" + number(line) : Long.toString(line);
  }
}
