package dev.cinch.cli.serve;

import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.etcd.EtcdCluster;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Where an etcd is, and how one gets in. */
public final class EtcdOptions {
  @Option(
      names = "--etcd",
      split = ",",
      paramLabel = "URL",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "With --backend etcd: the members' client addresses, separated by commas.")
  List<URI> endpoints = List.of();

  @Option(
      names = "--etcd-ca",
      paramLabel = "FILE",
      description = "The certificates, PEM, that those of an https etcd are signed by; Java's.")
  @Nullable Path ca;

  @Option(
      names = "--etcd-cert",
      paramLabel = "FILE",
      description = "The certificate, PEM, that is shown to etcd; needs --etcd-key.")
  @Nullable Path certificate;

  @Option(
      names = "--etcd-key",
      paramLabel = "FILE",
      description = "The key of that certificate: PEM, PKCS#8, not encrypted.")
  @Nullable Path key;

  @Option(
      names = "--etcd-user",
      paramLabel = "NAME",
      description = "The user of etcd, where it has users; needs --etcd-password-file.")
  @Nullable String user;

  @Option(
      names = "--etcd-password-file",
      paramLabel = "FILE",
      description = "Has that user's password in its first line.")
  @Nullable Path passwordFile;

  /** Whether one is named. */
  boolean isGiven() {
    return !endpoints.isEmpty();
  }

  /** Refuses what does not fit together. */
  void check() {
    boolean any =
        Stream.of(ca, certificate, key, user, passwordFile).anyMatch(option -> option != null);
    if (any && !isGiven()) {
      throw new Misuse("--etcd-ca, --etcd-cert, --etcd-key and --etcd-user go with --etcd");
    }
    if ((certificate == null) != (key == null)) {
      throw new Misuse("--etcd-cert and --etcd-key go together");
    }
    if ((user == null) != (passwordFile == null)) {
      throw new Misuse("--etcd-user and --etcd-password-file go together");
    }
  }

  /**
   * The etcd that is named.
   *
   * @throws IOException one line: a file that can't be read, or is none
   */
  EtcdCluster cluster() throws IOException {
    Optional<EtcdCluster.Own> own =
        certificate == null || key == null
            ? Optional.empty()
            : Optional.of(new EtcdCluster.Own(certificate, key));
    try {
      return EtcdCluster.of(
          endpoints,
          Optional.ofNullable(ca),
          own,
          user == null || passwordFile == null
              ? Optional.empty()
              : Optional.of(new EtcdCluster.User(user, password(passwordFile))));
    } catch (IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()), e);
    }
  }

  private static String password(Path file) throws IOException {
    return Files.readString(file).lines().findFirst().orElse("");
  }
}
