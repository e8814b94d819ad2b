package dev.cinch.cli.lease;

import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Which grant is meant: its id is a secret, whoever knows it may renew and release. Everybody on a
 * machine sees the arguments of a command, so it comes from the environment, from a file or from
 * standard input.
 */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class GrantOption {
  public static final String VARIABLE = "CINCH_GRANT";

  /** Above what a grant of as many leases as there may be prints, bytes. */
  private static final int MAX_BYTES = 16 << 20;

  private static final Pattern ALONE = Pattern.compile("[0-9a-f]{32}");

  /** The first field of what {@code cinch lease acquire} prints. */
  private static final Pattern PRINTED =
      Pattern.compile("\\A\\s*\\{\\s*\"id\"\\s*:\\s*\"([0-9a-f]{32})\"");

  @Option(
      names = "--grant-file",
      paramLabel = "FILE",
      description =
          "Where the grant's id stands, or all that acquire printed; - for standard input. The"
              + " variable CINCH_GRANT unless set.")
  @Nullable String file;

  @Parameters(hidden = true, arity = "0..*")
  List<String> arguments = List.of();

  /**
   * Finds its id.
   *
   * @throws Misuse if it is not given, or given so that others see it
   */
  Id id(Io io) throws IOException {
    if (!arguments.isEmpty()) {
      throw new Misuse(
          "a grant's id is a secret, and everybody on this machine sees arguments: set CINCH_GRANT,"
              + " or name a file with --grant-file (- for standard input)");
    }
    if (file != null) {
      return parsed(file, file.equals("-") ? text(io.in()) : text(Path.of(file)));
    }
    String variable = io.env().apply(VARIABLE);
    if (variable == null || variable.isEmpty()) {
      throw new Misuse(
          "which grant? set CINCH_GRANT, or name a file with --grant-file (- for standard input)");
    }
    if (!variable.contains("/")) {
      return parsed(VARIABLE, variable);
    }
    return GrantDirectory.open(Path.of(variable)).id();
  }

  /** What other commands share of it: empty if it is not named by such a directory. */
  Optional<GrantDirectory> shared(Io io) throws IOException {
    String variable = io.env().apply(VARIABLE);
    return file == null && variable != null && variable.contains("/")
        ? Optional.of(GrantDirectory.open(Path.of(variable)))
        : Optional.empty();
  }

  private static Id parsed(String from, String text) {
    Matcher printed = PRINTED.matcher(text);
    String id = printed.find() ? printed.group(1) : text.strip();
    if (!ALONE.matcher(id).matches()) { // it may be a secret of another kind: don't repeat it
      throw new Misuse(
          from + " has no grant: 32 hexadecimal digits, or what cinch lease acquire printed");
    }
    return Id.parse(id);
  }

  private static String text(Path from) throws IOException {
    try (InputStream in = Files.newInputStream(from)) {
      return text(in);
    }
  }

  private static String text(InputStream in) throws IOException {
    return new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8);
  }
}
