package dev.cinch.cli.serve;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Table;
import dev.cinch.lease.OwnersFile;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.access.TokenFile;
import dev.cinch.lease.access.TokenFile.Token;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes, lists and removes the tokens of a lease service. */
@Command(
    name = "token",
    subcommands = {TokenCommand.Add.class, TokenCommand.Listing.class, TokenCommand.Revoke.class},
    description = {
      "Make, list and revoke the tokens that a lease service knows, where it runs.",
      "A token has rights on the leases whose names begin with a prefix. A service reads their file"
          + " again when it changes."
    },
    footer = {"", "Example:", "  cinch token add --right acquire:jobs/ --note ci >ci.token"})
public final class TokenCommand {
  private TokenCommand() {}

  /** Where tokens are. */
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Place {
    @Option(
        names = "--key",
        paramLabel = "FILE",
        defaultValue = "cinch.key",
        description = "The signing key of the service, beside which the tokens are.")
    Path key;

    @Option(
        names = "--tokens",
        paramLabel = "FILE",
        description = "Their file; that of --key with .tokens behind its name unless set.")
    @Nullable Path tokens;

    TokenFile file() {
      return new TokenFile(tokens == null ? beside(key, ".tokens") : tokens);
    }

    /**
     * Makes the first token, which may do all, and a file for it. Of processes that start at once
     * one makes it; one that is killed meanwhile leaves a token that nobody knows.
     *
     * @return the file; empty if there are tokens
     */
    Optional<Path> makeFirst() throws IOException {
      TokenFile file = file();
      var all = List.of(new Permission(Right.ADMIN, ""));
      Optional<String> token = file.addFirst("made by cinch serve", all, now());
      Path admin = beside(file.path(), ".admin");
      if (token.isPresent()) {
        Files.deleteIfExists(admin);
        OwnersFile.writeNew(admin, token.get() + "\n");
      }
      return token.map(made -> admin);
    }

    private static Path beside(Path file, String ending) {
      return file.resolveSibling(Objects.requireNonNull(file.getFileName()) + ending);
    }
  }

  /** To the second, as people read it. */
  private static Instant now() {
    return Instant.now().truncatedTo(ChronoUnit.SECONDS);
  }

  /** Makes one. */
  @Command(
      name = "add",
      sortOptions = false,
      description = {
        "Make a token, and print it: it can't be shown again.",
        "Rights are observe (see leases, watch them), acquire (take leases and keep them), revoke"
            + " (end those of others) and admin (all of it, on all names). Each but observe has"
            + " observe in it. A prefix may follow: acquire:jobs/ is on the leases whose names begin"
            + " with jobs/."
      },
      footer = {
        "",
        "Examples:",
        "  cinch token add --right acquire:ci/ --right observe --note ci --for 90d >ci.token",
        "  cinch append --token-file ci.token ..."
      })
  @SuppressWarnings("NullAway.Init")
  static final class Add implements Callable<Integer> {
    private final Io io;

    @Option(
        names = "--right",
        required = true,
        paramLabel = "RIGHT[:PREFIX]",
        description = "What it may do; may be repeated.")
    List<Permission> rights;

    @Option(
        names = "--certificate",
        paramLabel = "NAME",
        description =
            "In place of a token: clients whose certificate has this common name need none. It prints"
                + " an id. For serve --client-ca.")
    @Nullable String certificate;

    @Option(
        names = "--for",
        paramLabel = "DURATION",
        description = "How long it counts, by the service's clock; for ever unless set.")
    @Nullable Duration lasting;

    @Option(
        names = "--note",
        paramLabel = "TEXT",
        defaultValue = "",
        showDefaultValue = CommandLine.Help.Visibility.NEVER,
        description = "Whose it is: one line, which logs and messages show.")
    String note;

    @Mixin Place place;
    @Mixin JsonOption json;

    Add(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException {
      if (lasting != null && (lasting.isNegative() || lasting.isZero())) {
        throw new Misuse("--for is longer than 0s");
      }
      Instant now = now();
      Optional<Instant> expires = Optional.ofNullable(lasting).map(now::plus);
      String token;
      try {
        token =
            certificate == null
                ? place.file().add(note, rights, now, expires)
                : place.file().addCertificate(certificate, note, rights, now, expires);
      } catch (IllegalArgumentException e) {
        throw new Misuse(String.valueOf(e.getMessage()), e);
      }
      try (Output out = io.output()) {
        String field = certificate == null ? "token" : "id";
        json.print(out, token, line -> line.text(field, token));
      }
      return ExitCode.GOOD;
    }
  }

  /** Lists them. */
  @Command(
      name = "list",
      description = "List tokens: their ids, rights, ends and notes; never themselves.",
      footer = {"", "Example:", "  cinch token list --key /etc/cinch/cinch.key"})
  @SuppressWarnings("NullAway.Init")
  static final class Listing implements Callable<Integer> {
    private static final List<String> HEAD =
        List.of("ID", "CERTIFICATE", "RIGHTS", "MADE", "ENDS", "NOTE");

    private final Io io;

    @Mixin Place place;
    @Mixin JsonOption json;

    Listing(Io io) {
      this.io = io;
    }

    @Override
    public Integer call() throws IOException {
      TokenFile file = place.file();
      if (Files.notExists(file.path())) {
        throw new Failure.Refusal(file.path() + ": no such file, so there are no tokens");
      }
      var rows = new ArrayList<List<String>>();
      rows.add(HEAD);
      try (Output out = io.output()) {
        out.ifClosed(ExitCode.GOOD);
        for (Token t : file.read()) {
          if (json.json) {
            print(t, new JsonLines(out));
          }
          String ends = t.expires().map(Instant::toString).orElse("never");
          String of = t.certificate().isEmpty() ? "-" : t.certificate();
          rows.add(List.of(t.id(), of, rights(t), t.created().toString(), ends, t.note()));
        }
        for (String line :
            new Table(HEAD.size(), HEAD.size()).lines(json.json ? List.of() : rows)) {
          out.line(Failure.oneLine(line));
        }
      }
      return ExitCode.GOOD;
    }

    private static String rights(Token token) {
      return String.join(",", token.permissions().stream().map(Permission::toString).toList());
    }

    private static void print(Token t, JsonLines line) throws IOException {
      line.object().text("id", t.id()).texts("rights", t.permissions());
      if (!t.certificate().isEmpty()) {
        line.text("certificate", t.certificate());
      }
      line.time("created", nanos(t.created()));
      if (t.expires().isPresent()) {
        line.time("expires", nanos(t.expires().get()));
      }
      line.text("note", t.note()).end();
    }

    private static long nanos(Instant time) {
      return ChronoUnit.NANOS.between(Instant.EPOCH, time);
    }
  }

  /** Removes some. */
  @Command(
      name = "revoke",
      description = "Remove tokens, which count no more. Leases taken with them run out.",
      footer = {"", "Example:", "  cinch token revoke 1f2e3d4c"})
  @SuppressWarnings("NullAway.Init")
  static final class Revoke implements Callable<Integer> {
    @Mixin Place place;

    @Parameters(arity = "1..*", paramLabel = "ID", description = "Their ids, as list has them.")
    List<String> ids;

    @Override
    public Integer call() throws IOException {
      for (String id : ids) {
        if (!place.file().remove(id)) {
          throw new Failure.Refusal("there is no token " + id + " in " + place.file().path());
        }
      }
      return ExitCode.GOOD;
    }
  }
}
