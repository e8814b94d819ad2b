package dev.cinch.cli.serve;

import dev.cinch.bag.model.Name;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.status.StatusSource;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.wire.PemTls;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Who may reach a lease server, and who may do what there. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ServeAccess {
  @Option(
      names = "--insecure",
      description =
          "Listen also where other machines reach it without TLS, or without --auth and --client-ca:"
              + " then anybody on the way reads tokens, or whoever reaches it may take leases.")
  boolean insecure;

  @Option(
      names = "--auth",
      description =
          "Take no lease, and show none, without a token. Revoking others' leases always needs one.")
  boolean auth;

  @Option(
      names = "--tokens",
      paramLabel = "FILE",
      description =
          "The tokens that it knows, as cinch token makes them; the key's file with .tokens behind"
              + " its name unless set. If there is none it is made, with a token that may do all in"
              + " FILE.admin, mode 0600.")
  @Nullable Path tokens;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description =
          "PEM: its certificate, with those that signed it; then it speaks TLS alone. Read again when"
              + " it changes.")
  @Nullable Path certificate;

  @Option(names = "--tls-key", paramLabel = "FILE", description = "PEM: the certificate's key.")
  @Nullable Path certificateKey;

  @Option(
      names = "--client-ca",
      paramLabel = "FILE",
      description = "PEM: by whom certificates of clients have to be signed; else they need none.")
  @Nullable Path clientCa;

  @Option(
      names = "--ca",
      paramLabel = "FILE",
      description =
          "PEM: by whom the certificate of an earlier server has to be signed, which is asked whether"
              + " it still runs (or set CINCH_CA).")
  @Nullable Path ca;

  /**
   * Refuses an address that others reach, unless they have to show something, and nobody can
   * listen.
   *
   * @param address with its port
   */
  void requireTrusted(String address, Io io) {
    if (certificate != null && (auth || clientCa != null)) {
      return;
    }
    String open =
        auth
            ? "tokens go over the network as they are, to " + address
            : "there is no authentication: whoever reaches " + address + " may take leases";
    if (!insecure) {
      throw new Misuse(open + "; if that network is trusted, say --insecure");
    }
    io.say("cinch serve", open);
  }

  /** Refuses to speak TLS where a cell's file tells all that it does not. */
  void requireScheme(URI http) {
    if (certificate != null && !"https".equals(http.getScheme())) {
      throw new Misuse(
          "the cell's file has "
              + http
              + ", and with --tls-cert this node is at https: change it in the file of each node, or"
              + " leave --tls-cert out");
    }
  }

  /** Its certificate and key, if it has them. */
  private Optional<PemTls.Own> own() {
    if ((certificate == null) != (certificateKey == null)
        || (clientCa != null && certificate == null)) {
      throw new Misuse("--tls-cert and --tls-key go together, and --client-ca with them");
    }
    return certificate == null || certificateKey == null
        ? Optional.empty()
        : Optional.of(new PemTls.Own(certificate, certificateKey));
  }

  /** Has the server speak TLS, if it has a certificate. */
  void encrypt(LeaseServer.Builder server) throws IOException {
    Optional<PemTls.Own> own = own();
    if (own.isPresent()) {
      server.tls(new PemTls(Optional.ofNullable(clientCa), own), clientCa != null);
    }
  }

  /** What it shows to a server that is there already, and asks of it. */
  Credentials credentials() throws IOException {
    Optional<PemTls.Own> own = own();
    Optional<Supplier<SSLContext>> tls = Optional.empty();
    if (ca != null || own.isPresent()) {
      tls = Optional.of(new PemTls(Optional.ofNullable(ca), own));
    }
    return new Credentials(Optional.empty(), tls);
  }

  /** What the server tells of its store. */
  StatusSource status(Name store, TimeSource time) throws IOException {
    return new StatusSource(store, time, credentials(), certificate == null || ca != null);
  }

  private TokenCommand.Place place(Path key) {
    var place = new TokenCommand.Place();
    place.key = key;
    place.tokens = tokens;
    return place;
  }

  /**
   * Who may do what.
   *
   * @param key beside which tokens are, unless they are elsewhere
   */
  Access rights(Path key, TimeSource time) throws IOException {
    return Access.of(place(key).file(), !auth, time);
  }

  /**
   * Makes the first token. A server that can't serves its holders all the same.
   *
   * @return a line about it; empty if there are tokens
   */
  Optional<String> makeToken(Path key, Access rights, Io io) {
    try {
      Optional<Path> made = place(key).makeFirst();
      rights.reload();
      return made.map(admin -> "made a token that may do all: " + admin);
    } catch (IOException e) {
      io.say("cinch serve", "there are no tokens, so nobody may revoke: " + Failure.of(e).line());
      return Optional.empty();
    }
  }
}
