package dev.cinch.cli.serve;

import static java.time.temporal.ChronoUnit.MILLIS;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Makes a signing key, and makes stores trust it. */
@Command(
    name = "keygen",
    description = {
      "Print the public key of a lease service's signing key, making the key if there is none.",
      "With a store, make the store trust it; trusted keys are never removed. A store that trusts a"
          + " key already wants a later one signed by that, once: --signed-by. Exit code 3 if the"
          + " signature is missing, or by a key that the store does not trust."
    },
    footer = {
      "",
      "Examples:",
      "  cinch keygen --key cinch.key --store /mnt/shared/store",
      "  cinch keygen --key new.key --signed-by cinch.key --store /mnt/shared/store"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class KeygenCommand implements Callable<Integer> {
  /** Signed times end soon after it. */
  private static final Instant LAST = Instant.parse("2262-01-01T00:00:00Z");

  private final Io io;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      defaultValue = "cinch.key",
      description = "The key's file, mode 0600.")
  Path key;

  @Option(
      names = "--store",
      paramLabel = "DIR",
      description = "The store that is to trust it (or set CINCH_STORE).")
  @Nullable Name store;

  @Option(
      names = "--signed-by",
      paramLabel = "FILE",
      description = "A signing key that the store trusts, to vouch for the new one.")
  @Nullable Path signedBy;

  @Option(
      names = "--for",
      paramLabel = "DURATION",
      description =
          "Delegate: the new key signs leases that are over by then, and no other key. For a lease"
              + " server, so that the key that signs it can be kept elsewhere; for ever unless set.")
  @Nullable Duration lasting;

  @Mixin JsonOption json;

  KeygenCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    if (signedBy != null && store == null) {
      throw new Misuse("--signed-by goes with --store");
    }
    if (lasting != null && (signedBy == null || lasting.toMillis() < 1)) {
      throw new Misuse("--for goes with --signed-by, and is 1ms or longer");
    }
    Instant end = lasting == null ? null : Instant.now().plus(lasting).truncatedTo(MILLIS);
    if (end != null && !end.isBefore(LAST)) {
      throw new Misuse("--for ends in the year 2261 at the latest");
    }
    SigningKey by = signedBy == null ? null : SigningKey.load(signedBy);
    Store opened = StoreOptions.open(store, SystemTime.INSTANCE);
    SigningKey signing = load(key, io, "cinch keygen");
    if (end != null && by != null && signing.publicKey().isSame(by.publicKey())) {
      throw new Failure.Refusal(key + " can't delegate itself: name another file with --key");
    }
    try (Output out = io.output()) {
      String shown = signing.publicKey().toString();
      json.print(out, shown, line -> line.text("publicKey", shown).text("file", key.toString()));
    }
    if (opened != null) {
      PublicKey added = signing.publicKey();
      String until = "";
      if (end != null) {
        added = added.until(IsoTime.nanos(end));
        until = " until " + end;
      }
      long unused =
          by == null
              ? TrustedKeyFiles.add(opened.context(), signing)
              : TrustedKeyFiles.add(opened.context(), added, by);
      // It may have been named by the environment, and this can't be undone.
      io.say("cinch keygen", store + " trusts this key" + until);
    }
    return ExitCode.GOOD;
  }

  /** Reads or makes a key; warns if others can read it. */
  public static SigningKey load(Path file, Io io, String command) throws IOException {
    SigningKey key = SigningKey.loadOrCreate(file);
    if (SigningKey.readableByOthers(file)) {
      io.say(command, file + ": others can read this key; chmod 600 it");
    }
    return key;
  }
}
