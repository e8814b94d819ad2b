package dev.cinch.cli.append;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Commands;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Stop;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What is read without picocli is what picocli reads. */
final class UsualAppendTest {
  private static Io io(Map<String, String> env) {
    OutputStream nowhere = OutputStream.nullOutputStream();
    return new Io(
        new ByteArrayInputStream(new byte[0]),
        nowhere,
        new PrintStream(nowhere, false, StandardCharsets.UTF_8),
        env::get,
        false,
        false,
        Stop.byHand());
  }

  /** Variables stand in front, with an equals sign. */
  private record Line(Map<String, String> env, List<String> args) {
    static Line of(String text) {
      var env = new TreeMap<String, String>();
      String[] words = text.split(" ", -1);
      int i = 0;
      for (; words[i].contains("="); i++) {
        int at = words[i].indexOf('=');
        env.put(words[i].substring(0, at), words[i].substring(at + 1));
      }
      return new Line(env, List.of(words).subList(i, words.length));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "append --store s --log a",
        "append --log=a --store=s",
        "append --log=a --store=s=t",
        "CINCH_STORE=s append --log a",
        "CINCH_STORE=s append --store t --log a lines.txt",
        "CINCH_STORE=s CINCH_MACHINE=m1 CINCH_SERVER=http://h:1 append --log a",
        "CINCH_STORE=s CINCH_MACHINE=m1 append --log a --machine m2",
        "CINCH_STORE=s append --log a --lease l --server http://h:1",
        "CINCH_STORE=s append --lease=l --log a --lease m/n --server=http://h:1",
        "CINCH_STORE=s CINCH_GRANT=/tmp/g append --log a",
        "CINCH_STORE=s append lines.txt --log a --json",
        "CINCH_STORE=s append --log a --json --end 1b2c"
      })
  void theOptionsAreThoseThatPicocliSets(String text) throws Exception {
    Line line = Line.of(text);
    Io io = io(line.env);
    AppendCommand read = UsualAppend.read(line.args.toArray(String[]::new), io);
    assertNotNull(read);
    CommandLine cinch = Commands.all(io);
    var unused = cinch.parseArgs(line.args.toArray(String[]::new));
    CommandLine append = requireNonNull(cinch.getSubcommands().get("append"));
    Map<String, String> options = options(append.getCommand());
    assertTrue(options.size() >= 13, options.toString());
    assertEquals(options, options(read));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "cat --store s --log a",
        "--debug append --store s --log a",
        "append",
        "append --store s",
        "append --log a",
        "append --store s --log",
        "append --store s --log --json",
        "append --store s --log a --help",
        "append --store s --log a -v",
        "append --store s --log a -",
        "append --store s --log a --",
        "append --store s --log a --lag b",
        "append --store s --log a --json=false",
        "append --store s --log a --json --json",
        "append --store s --log a --create",
        "append --store s --log a --log b",
        "append --store s --log a one two",
        "append --store s --log a @file",
        "append --store @s --log a",
        "append --store s --log a/b",
        "append --store s --log= ",
        "append --store  --log a",
        "append --store s --log a --lease l",
        "append --store s --log a --lease l --server ftp://h",
        "append --store s --log a --lease l --lease l --server http://h",
        "append --store s --log a --wait 5s",
        "append --store s --log a --resume --lease l --server http://h",
        "append --store s --log a --lease-for 5s --lease l --server http://h",
        "append --store s --log a --server ://",
        "append --store s --log a --machine m/n",
        "CINCH_STORE= append --log a",
        "CINCH_STORE=${sys:user.home} append --log a",
        "CINCH_STORE=s CINCH_MACHINE= append --log a",
        "CINCH_GRANT=no-directory append --store s --log a",
        "CINCH_GRANT= append --store s --log a"
      })
  void whateverElseThereIsPicocliReads(String text) {
    Line line = Line.of(text);
    assertNull(UsualAppend.read(line.args.toArray(String[]::new), io(line.env)));
  }

  private static Map<String, String> options(Object command) throws IllegalAccessException {
    var all = new TreeMap<String, String>();
    for (Field field : command.getClass().getDeclaredFields()) {
      field.setAccessible(true);
      if (field.isAnnotationPresent(Mixin.class)) {
        all.putAll(options(Objects.requireNonNull(field.get(command))));
      } else if (field.isAnnotationPresent(Option.class)
          || field.isAnnotationPresent(Parameters.class)) {
        all.put(field.getName(), String.valueOf(field.get(command)));
      }
    }
    return all;
  }
}
