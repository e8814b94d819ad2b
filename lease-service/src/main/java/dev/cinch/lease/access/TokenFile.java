package dev.cinch.lease.access;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.OwnersFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The file of a lease service's tokens, JSON: of each its SHA-256 and its rights, never itself. A
 * change makes a new file and renames it, one process at a time, so a reader sees a whole one.
 * Thread-safe.
 *
 * <p>A token is {@code cinch_ID_SECRET}: the id has 8 hexadecimal digits, and the secret is 32
 * bytes of a secure generator as base64url. So much is not guessed, and needs no slow hash.
 */
@CheckReturnValue
public final class TokenFile {
  private static final String PREFIX = "cinch_";
  private static final int ID_BYTES = 4;
  private static final int SECRET_BYTES = 32;
  private static final int VERSION = 1;

  /** Larger files are none of tokens; bytes. */
  private static final long MAX_BYTES = 16 << 20;

  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(com.fasterxml.jackson.core.JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
          .build();

  private static final ReentrantLock THREADS = new ReentrantLock();

  private final Path file;

  public TokenFile(Path file) {
    this.file = file;
  }

  /**
   * What is known of a token. Times are of a wall clock.
   *
   * @param note whose it is, for people
   * @param expires when it ends; empty if it never does
   * @param certificate the common name of a client's certificate that stands for it; else empty
   * @param sha256 of its text; empty with a certificate
   */
  public record Token(
      String id,
      String note,
      List<Permission> permissions,
      Instant created,
      Optional<Instant> expires,
      String certificate,
      String sha256) {
    public Token {
      permissions = List.copyOf(permissions);
    }

    /** Whether it has ended. */
    public boolean isOver(Instant now) {
      return expires.isPresent() && !now.isBefore(expires.get());
    }

    /** For logs and messages. */
    String shown() {
      String what = certificate.isEmpty() ? "token " + id : "certificate " + certificate;
      return what + (note.isEmpty() ? "" : " (" + note + ")");
    }
  }

  /** The bytes of the file. */
  private record Document(int cinchTokens, @Nullable List<Entry> tokens) {}

  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  private record Entry(
      @Nullable String id,
      @Nullable String note,
      @Nullable List<String> rights,
      @Nullable String created,
      @Nullable String expires,
      @Nullable String certificate,
      @Nullable String sha256) {
    static Entry of(Token token) {
      return new Entry(
          token.id,
          token.note,
          token.permissions.stream().map(Permission::toString).toList(),
          token.created.toString(),
          token.expires.map(Instant::toString).orElse(null),
          token.certificate,
          token.sha256);
    }

    Token token() {
      if (id == null || rights == null || created == null) {
        throw new IllegalArgumentException("a token without id, rights or created");
      }
      if ((certificate == null) == (sha256 == null)) {
        throw new IllegalArgumentException(
            "a token that is not known by one of sha256, certificate");
      }
      return new Token(
          id,
          note == null ? "" : note,
          rights.stream().map(Permission::parse).toList(),
          Instant.parse(created),
          Optional.ofNullable(expires).map(Instant::parse),
          certificate == null ? "" : certificate,
          sha256 == null ? "" : sha256);
    }
  }

  public Path path() {
    return file;
  }

  /**
   * All tokens, the oldest first; none if there is no file.
   *
   * @throws IOException if it can't be read or is no such file; one line that names it
   */
  public List<Token> read() throws IOException {
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw new IOException(
            file + " is no file of tokens: it has " + Files.size(file) + " bytes");
      }
      Document document = MAPPER.readValue(Files.readAllBytes(file), Document.class);
      if (document == null || document.cinchTokens != VERSION || document.tokens == null) {
        throw new IOException(file + " is no file of tokens: it lacks \"cinchTokens\":" + VERSION);
      }
      var found = new ArrayList<Token>();
      for (Entry entry : document.tokens) {
        found.add(entry.token());
      }
      return found;
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (JsonProcessingException e) {
      throw new IOException(
          file + " is no whole file of tokens: " + OneLine.of(e.getOriginalMessage(), 100), e);
    } catch (IllegalArgumentException | DateTimeException e) {
      throw new IOException(file + " is no file of tokens: " + e.getMessage(), e);
    }
  }

  /**
   * Adds a token.
   *
   * @param note one line, for people; may be empty
   * @return the token, which nobody can find out later
   */
  public String add(
      String note, List<Permission> permissions, Instant now, Optional<Instant> expires)
      throws IOException {
    try (Locked unused = lock()) {
      return add(note, permissions, now, expires, new ArrayList<>(read()));
    }
  }

  /**
   * Adds the first token, which never ends.
   *
   * @return the token; empty if there is a file already
   */
  public Optional<String> addFirst(String note, List<Permission> permissions, Instant now)
      throws IOException {
    if (Files.exists(file)) {
      return Optional.empty();
    }
    try (Locked unused = lock()) {
      return Files.exists(file)
          ? Optional.empty()
          : Optional.of(add(note, permissions, now, Optional.empty(), new ArrayList<>()));
    }
  }

  private String add(
      String note,
      List<Permission> permissions,
      Instant now,
      Optional<Instant> expires,
      List<Token> all)
      throws IOException {
    var secret = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(secret);
    String id = free(all);
    String text =
        PREFIX + id + "_" + Base64.getUrlEncoder().withoutPadding().encodeToString(secret);
    add(new Token(id, note, permissions, now, expires, "", hash(text)), all);
    return text;
  }

  /**
   * Adds one for which a client's certificate stands.
   *
   * @param certificate its common name
   * @return its id
   * @throws IllegalArgumentException if one has that name already
   */
  public String addCertificate(
      String certificate,
      String note,
      List<Permission> permissions,
      Instant now,
      Optional<Instant> expires)
      throws IOException {
    OneLine.check("the name", certificate);
    if (certificate.isBlank()) {
      throw new IllegalArgumentException("the name of a certificate is not empty");
    }
    try (Locked unused = lock()) {
      var all = new ArrayList<>(read());
      for (Token each : all) {
        if (each.certificate.equals(certificate)) {
          throw new IllegalArgumentException(
              "token " + each.id + " is for the certificate " + certificate + " already");
        }
      }
      String id = free(all);
      add(new Token(id, note, permissions, now, expires, certificate, ""), all);
      return id;
    }
  }

  private void add(Token token, List<Token> all) throws IOException {
    OneLine.check("the note", token.note);
    all.add(token);
    write(all);
  }

  /** An id that none of them has. */
  private static String free(List<Token> all) {
    var id = new byte[ID_BYTES];
    while (true) {
      new SecureRandom().nextBytes(id);
      String text = HexFormat.of().formatHex(id);
      if (all.stream().noneMatch(t -> t.id.equals(text))) {
        return text;
      }
    }
  }

  /**
   * Removes a token, which counts no more from then on.
   *
   * @return whether there was one
   */
  public boolean remove(String id) throws IOException {
    try (Locked unused = lock()) {
      var all = new ArrayList<>(read());
      boolean found = all.removeIf(t -> t.id.equals(id));
      if (found) {
        write(all);
      }
      return found;
    }
  }

  /**
   * The id that a text has as a token, whether or not there is such a token; empty if it has none.
   */
  static Optional<String> id(String text) {
    int length = PREFIX.length() + 2 * ID_BYTES;
    return text.startsWith(PREFIX) && text.length() > length && text.charAt(length) == '_'
        ? Optional.of(text.substring(PREFIX.length(), length))
        : Optional.empty();
  }

  /** Whether a text is this token; takes as long wherever they differ. */
  static boolean matches(Token token, String text) {
    return MessageDigest.isEqual(hash(text).getBytes(UTF_8), token.sha256.getBytes(UTF_8));
  }

  private static String hash(String text) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }

  /** One changes it at a time; closing ends that. */
  private interface Locked extends Closeable {}

  /** A lock of a file is a process's: of its threads another one chooses. */
  private Locked lock() throws IOException {
    THREADS.lock();
    boolean locked = false;
    try {
      FileChannel channel =
          FileChannel.open(
              sibling(".lock"),
              Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
              OwnersFile.mode(file));
      try {
        var unused = channel.lock();
        locked = true;
      } finally {
        if (!locked) {
          channel.close();
        }
      }
      return () -> {
        try {
          channel.close();
        } finally {
          THREADS.unlock();
        }
      };
    } finally {
      if (!locked) {
        THREADS.unlock();
      }
    }
  }

  private Path sibling(String ending) {
    return file.resolveSibling(Objects.requireNonNull(file.getFileName()) + ending);
  }

  private void write(List<Token> all) throws IOException {
    var document = new Document(VERSION, all.stream().map(Entry::of).toList());
    String text =
        MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(document)
            + System.lineSeparator();
    OwnersFile.replace(file, text);
  }
}
