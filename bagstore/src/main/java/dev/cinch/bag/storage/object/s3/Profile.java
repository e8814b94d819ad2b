package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A section of the files that AWS's tools read. Immutable. */
final class Profile {
  /** How credentials are found in ways that are not ours. */
  private static final List<String> FOREIGN =
      List.of("credential_process", "role_arn", "sso_session", "sso_start_url");

  private final String name;
  private final boolean told;
  private final Path credentials;
  private final Path config;
  private final Map<String, String> values = new HashMap<>();
  private boolean found;

  private Profile(Environment environment) {
    Optional<String> profile = environment.get("AWS_PROFILE");
    told = profile.isPresent();
    name = profile.orElse("default");
    credentials = environment.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    config = environment.file("AWS_CONFIG_FILE", ".aws/config");
  }

  /** The one that the environment names, or else the one named default. */
  static Profile read(Environment environment) throws AccessDeniedException {
    var profile = new Profile(environment);
    profile.read(profile.config, "profile " + profile.name);
    profile.read(profile.credentials, profile.name);
    return profile;
  }

  private void read(Path file, String section) throws AccessDeniedException {
    List<String> lines;
    try {
      lines = Files.readAllLines(file, UTF_8);
    } catch (NoSuchFileException | NotDirectoryException e) {
      return;
    } catch (IOException e) {
      throw Credentials.none("can't read credentials from %s: %s".formatted(file, e));
    }
    boolean here = false;
    for (String line : lines) {
      String text = line.strip();
      int equals = text.indexOf('=');
      if (text.startsWith("[")) {
        String header = text.replaceFirst("].*", "]").replaceAll("\\s+", " ");
        here = header.equals("[" + section + "]") || header.equals("[" + name + "]");
        found |= here;
      } else if (here && equals > 0 && !"#;".contains(text.substring(0, 1)) && !nested(line)) {
        values.put(text.substring(0, equals).strip(), text.substring(equals + 1).strip());
      }
    }
  }

  /** Belongs to the line before. */
  private static boolean nested(String line) {
    return line.startsWith(" ") || line.startsWith("\t");
  }

  Optional<String> get(String key) {
    return Optional.ofNullable(values.get(key)).filter(value -> !value.isEmpty());
  }

  /**
   * The credentials of it.
   *
   * @throws AccessDeniedException if the profile that was asked for has none
   */
  Optional<Credentials> credentials() throws AccessDeniedException {
    Optional<String> id = get("aws_access_key_id");
    Optional<String> secret = get("aws_secret_access_key");
    if (id.isPresent() && secret.isPresent()) {
      String source = "profile %s of %s".formatted(name, credentials);
      return Optional.of(
          new Credentials(
              id.get(), secret.get(), get("aws_session_token"), Long.MAX_VALUE, source));
    }
    for (String way : FOREIGN) {
      if (get(way).isPresent()) {
        throw Credentials.none(
            ("profile %s of %s asks for %s, which Cinch does not do; set the variables that aws"
                    + " configure export-credentials --profile %s --format env prints")
                .formatted(name, config, way, name));
      }
    }
    if (told) {
      String what = found ? "has no aws_access_key_id and aws_secret_access_key" : "is not there";
      throw Credentials.none(
          "profile %s %s in %s and %s".formatted(name, what, credentials, config));
    }
    return Optional.empty();
  }
}
