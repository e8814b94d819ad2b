package dev.cinch.lease.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Certificates of an authority of their own, for loopback, made by openssl. */
final class TestCertificates {
  private final Path dir;

  /** Makes the authority; has the test skipped where there is no openssl. */
  TestCertificates(Path dir) throws IOException, InterruptedException {
    Assumptions.assumeTrue(
        Stream.of(System.getenv("PATH").split(File.pathSeparator))
            .anyMatch(path -> Files.isExecutable(Path.of(path, "openssl"))),
        "skipped: there is no openssl here; apt-get install openssl");
    this.dir = Files.createDirectories(dir);
    Files.writeString(
        file("both"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n");
    run("req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=ca -keyout ca.key -out ca.pem");
  }

  /**
   * Makes {@code NAME.pem} and {@code NAME.key}. Without a common name, which would be a user's.
   */
  TestCertificates make(String name, String keys) throws IOException, InterruptedException {
    return make(name, keys, "/O=" + name);
  }

  TestCertificates make(String name, String keys, String subject)
      throws IOException, InterruptedException {
    run("req -nodes %s -subj %s -keyout %s.key -out %s.csr".formatted(keys, subject, name, name));
    run(
        "x509 -req -days 2 -in %s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile both -out %s.pem"
            .formatted(name, name));
    return this;
  }

  Path file(String name) {
    return dir.resolve(name);
  }

  private void run(String arguments) throws IOException, InterruptedException {
    List<String> command =
        Stream.concat(Stream.of("openssl"), Stream.of(arguments.split(" "))).toList();
    Process process =
        new ProcessBuilder(command)
            .directory(dir.toFile())
            .redirectErrorStream(true)
            .redirectOutput(file("log").toFile())
            .start();
    assertEquals(0, process.waitFor(), () -> arguments);
  }
}
