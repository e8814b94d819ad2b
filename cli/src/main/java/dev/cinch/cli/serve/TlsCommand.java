package dev.cinch.cli.serve;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.OwnersFile;
import java.io.IOException;
import java.io.StringReader;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.X500NameBuilder;
import org.bouncycastle.asn1.x500.style.BCStyle;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.openssl.PEMParser;
import org.bouncycastle.openssl.jcajce.JcaPEMKeyConverter;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes certificates for those who have no authority that does. */
@Command(
    name = "tls",
    subcommands = TlsCommand.Init.class,
    description = "Make certificates, for TLS between lease servers and their clients.",
    footer = {"", "Example:", "  cinch tls init /etc/cinch/tls --server leases.example.org"})
public final class TlsCommand {
  private TlsCommand() {}

  /** Makes an authority of one's own, and certificates that it signs. */
  @Command(
      name = "init",
      sortOptions = false,
      description = {
        "Make certificates: an authority's (ca.pem, ca.key), a server's (server.pem, server.key), and"
            + " those of clients (NAME.pem, NAME.key).",
        "If the directory has an authority, that signs the others. The server's is made anew each"
            + " time, and so are those of the clients that are named: a server and clients that run"
            + " take the new ones. Keys have mode 0600. Keep ca.key where no server runs."
      },
      footer = {
        "",
        "Examples:",
        "  cinch tls init tls --server leases.example.org --client web-1",
        "  cinch serve --host 0.0.0.0 --auth --tls-cert tls/server.pem --tls-key tls/server.key \\",
        "    --client-ca tls/ca.pem",
        "  cinch append --ca tls/ca.pem --tls-cert tls/web-1.pem --tls-key tls/web-1.key ..."
      })
  @SuppressWarnings("NullAway.Init") // picocli sets the fields
  static final class Init implements Callable<Integer> {
    private static final Duration OF_CA = Duration.ofDays(3_650);

    /** Clocks of others may be behind. */
    private static final Duration BEFORE = Duration.ofHours(1);

    private static final String CA = "ca";
    private static final String SERVER = "server";

    private final Io io;
    private final SecureRandom random = new SecureRandom();

    @Parameters(paramLabel = "DIR", description = "Where they go; made if there is none.")
    Path directory;

    @Option(
        names = "--server",
        paramLabel = "NAME",
        split = ",",
        showDefaultValue = CommandLine.Help.Visibility.NEVER,
        description =
            "Under which names and addresses clients ask for the server, with commas between them;"
                + " this machine's unless set. localhost and 127.0.0.1 are always among them.")
    List<String> names = new ArrayList<>();

    @Option(
        names = "--client",
        paramLabel = "NAME",
        showDefaultValue = CommandLine.Help.Visibility.NEVER,
        description = "One for this client; may be repeated.")
    List<String> clients = new ArrayList<>();

    @Option(
        names = "--for",
        paramLabel = "DURATION",
        defaultValue = "397d",
        description = "How long they count, but for the authority's, which counts ten years.")
    Duration lasting;

    Init(Io io) {
      this.io = io;
    }

    /** A certificate and its key. */
    private record Pair(X509Certificate certificate, PrivateKey key) {}

    @Override
    public Integer call() throws IOException {
      if (lasting.isNegative() || lasting.isZero()) {
        throw new Misuse("--for is longer than 0s");
      }
      var all = new LinkedHashSet<String>(names.isEmpty() ? MachineNames.known() : names);
      all.addAll(List.of("localhost", "127.0.0.1", "::1"));
      for (String name : all) {
        if (HostPort.parse(name.indexOf(':') >= 0 ? "[" + name + "]" : name).isEmpty()) {
          throw new Misuse("no name or address of a server: " + name);
        }
      }
      for (String client : clients) {
        if (!client.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,63}") || isOurs(client)) {
          throw new Misuse("no name for a client's certificate: " + Failure.oneLine(client));
        }
      }
      Files.createDirectories(directory);
      try (Output out = io.output()) {
        Pair ca = authority(out);
        var subjects = new GeneralName[all.size()];
        int at = 0;
        for (String name : all) {
          boolean address = HostPort.parse(name).filter(HostPort::isAddress).isPresent();
          subjects[at++] =
              new GeneralName(
                  address || name.indexOf(':') >= 0 ? GeneralName.iPAddress : GeneralName.dNSName,
                  name);
        }
        String first = all.iterator().next();
        write(SERVER, signed(first, ca, new GeneralNames(subjects)), out);
        for (String client : clients) {
          write(client, signed(client, ca, null), out);
        }
      } catch (GeneralSecurityException | OperatorCreationException e) {
        throw new IOException("a certificate could not be made: " + e.getMessage(), e);
      }
      return ExitCode.GOOD;
    }

    private static boolean isOurs(String name) {
      return name.equals(CA) || name.equals(SERVER);
    }

    private Path file(String name, String ending) {
      return directory.resolve(name + ending);
    }

    private Pair authority(Output out)
        throws IOException, GeneralSecurityException, OperatorCreationException {
      Path certificate = file(CA, ".pem");
      Path key = file(CA, ".key");
      if (Files.exists(certificate) && Files.exists(key)) {
        return read(certificate, key);
      }
      if (Files.exists(certificate) || Files.exists(key)) {
        throw new Failure.Refusal(
            "of " + certificate + " and " + key + " one is missing: both sign certificates");
      }
      KeyPair own = pair();
      var name = new X500Name("CN=Cinch " + directory.toAbsolutePath().normalize().getFileName());
      JcaX509v3CertificateBuilder builder = builder(name, name, own, OF_CA);
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
      int signs = KeyUsage.keyCertSign | KeyUsage.cRLSign;
      builder.addExtension(Extension.keyUsage, true, new KeyUsage(signs));
      builder.addExtension(
          Extension.subjectKeyIdentifier,
          false,
          new JcaX509ExtensionUtils().createSubjectKeyIdentifier(own.getPublic()));
      var ca = new Pair(built(builder, own.getPrivate()), own.getPrivate());
      write(CA, ca, out);
      return ca;
    }

    private static Pair read(Path certificate, Path key)
        throws IOException, GeneralSecurityException {
      try (var certificates = new PEMParser(new StringReader(Files.readString(certificate)));
          var keys = new PEMParser(new StringReader(Files.readString(key)))) {
        if (certificates.readObject() instanceof X509CertificateHolder holder
            && keys.readObject() instanceof PrivateKeyInfo info) {
          return new Pair(
              new JcaX509CertificateConverter().getCertificate(holder),
              new JcaPEMKeyConverter().getPrivateKey(info));
        }
      }
      throw new IOException(certificate + " and " + key + " are no certificate and key of PEM");
    }

    /**
     * @param names of a server; null for a client
     */
    private Pair signed(String name, Pair ca, @Nullable GeneralNames names)
        throws IOException, GeneralSecurityException, OperatorCreationException {
      KeyPair own = pair();
      X500Name subject = new X500NameBuilder(BCStyle.INSTANCE).addRDN(BCStyle.CN, name).build();
      X500Name issuer = X500Name.getInstance(ca.certificate.getSubjectX500Principal().getEncoded());
      JcaX509v3CertificateBuilder builder = builder(issuer, subject, own, lasting);
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(false));
      builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature));
      // A server asks the one before it, as a client.
      var purposes = new ArrayList<KeyPurposeId>(List.of(KeyPurposeId.id_kp_clientAuth));
      if (names != null) {
        purposes.add(KeyPurposeId.id_kp_serverAuth);
        builder.addExtension(Extension.subjectAlternativeName, false, names);
      }
      builder.addExtension(
          Extension.extendedKeyUsage,
          false,
          new ExtendedKeyUsage(purposes.toArray(KeyPurposeId[]::new)));
      builder.addExtension(
          Extension.authorityKeyIdentifier,
          false,
          new JcaX509ExtensionUtils().createAuthorityKeyIdentifier(ca.certificate));
      return new Pair(built(builder, ca.key), own.getPrivate());
    }

    private static KeyPair pair() throws GeneralSecurityException {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(256);
      return generator.generateKeyPair();
    }

    private JcaX509v3CertificateBuilder builder(
        X500Name issuer, X500Name subject, KeyPair own, Duration lasting) {
      Instant now = Instant.now();
      return new JcaX509v3CertificateBuilder(
          issuer,
          new BigInteger(127, random),
          Date.from(now.minus(BEFORE)),
          Date.from(now.plus(lasting)),
          subject,
          own.getPublic());
    }

    private static X509Certificate built(JcaX509v3CertificateBuilder builder, PrivateKey by)
        throws GeneralSecurityException, OperatorCreationException {
      return new JcaX509CertificateConverter()
          .getCertificate(builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(by)));
    }

    /** Whole files that take the place of others, the key before its certificate. */
    private void write(String name, Pair pair, Output out)
        throws IOException, GeneralSecurityException {
      replace(file(name, ".key"), pem("PRIVATE KEY", pair.key.getEncoded()));
      Path certificate = file(name, ".pem");
      replace(certificate, pem("CERTIFICATE", pair.certificate.getEncoded()));
      out.line(
          certificate + " until " + pair.certificate.getNotAfter().toInstant() + ", and its key");
    }

    private static void replace(Path file, String text) throws IOException {
      Path whole = file.resolveSibling(file.getFileName() + ".new");
      Files.deleteIfExists(whole);
      OwnersFile.writeNew(whole, text);
      if (file.toString().endsWith(".pem")) { // which everybody may have
        Files.setPosixFilePermissions(whole, PosixFilePermissions.fromString("rw-r--r--"));
      }
      Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static String pem(String what, byte[] bytes) {
      var lines = Base64.getMimeEncoder(64, "\n".getBytes(US_ASCII)).encodeToString(bytes);
      return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(what, lines, what);
    }
  }
}
