package dev.cinch.bag.storage.object.s3;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Where a process finds what it was told about S3. Immutable.
 *
 * @param variables of the environment
 * @param home the user's directory
 */
public record Environment(Map<String, String> variables, Path home) {
  public Environment {
    variables = Map.copyOf(variables);
  }

  /** Of this process. */
  public static Environment ofProcess() {
    return new Environment(System.getenv(), Path.of(System.getProperty("user.home")));
  }

  /** A variable; empty if it has no value. */
  Optional<String> get(String name) {
    return Optional.ofNullable(variables.get(name)).filter(value -> !value.isEmpty());
  }

  /** What a variable names, or else a file below the user's directory. */
  Path file(String name, String otherwise) {
    return get(name).map(Path::of).orElse(home.resolve(otherwise));
  }
}
