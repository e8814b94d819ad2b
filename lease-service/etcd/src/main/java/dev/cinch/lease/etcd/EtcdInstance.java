package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.etcd.Keys.Stored;
import dev.cinch.lease.time.TimeSource;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.TxnResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which instance of the lease service has the leases of a store in an etcd: a key that is never
 * collected. All servers that find the same one there are that instance. Thread-safe; calls wait.
 */
@CheckReturnValue
public final class EtcdInstance implements AutoCloseable {
  private static final LeaseName KEY = new LeaseName("instance");
  private static final Pattern CLAIM = Pattern.compile("(\\d{1,10}) (\\d{1,15})");
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long NO_LEASE = 0;

  /**
   * An instance.
   *
   * @param number of it in the store, from 1
   * @param sinceMs when it was made, milliseconds since the Unix epoch; no lease of it is older
   */
  public record Claim(long number, long sinceMs) {}

  private final EtcdCalls calls;
  private final String prefix;
  private final Keys keys;

  /**
   * Of a store.
   *
   * @param random spreads out attempts
   */
  public EtcdInstance(EtcdCluster etcd, Id store, TimeSource time, RandomGenerator random) {
    this.calls = new EtcdCalls(etcd, time, random);
    this.prefix = "cinch/" + store;
    this.keys = new Keys(prefix);
  }

  /** Below which the keys of an instance's leases are, for {@link EtcdRegister#of}. */
  public String prefix(Claim claim) {
    return prefix + "/" + claim.number() + "/leases";
  }

  /**
   * The instance that is there; empty if there was none.
   *
   * @throws IOException one line: which etcd, and what it said
   */
  public Optional<Claim> read() throws IOException {
    return claim(stored());
  }

  /**
   * Puts one in the place of another.
   *
   * @param last that was read
   * @return whether that was still there
   * @throws IOException one line; then it may have been done
   */
  public boolean replace(Optional<Claim> last, Claim next) throws IOException {
    Stored now = stored();
    if (!claim(now).equals(last)) {
      return false;
    }
    byte[] value = (next.number() + " " + next.sinceMs()).getBytes(US_ASCII);
    TxnResponse answer =
        await(
            calls.post(
                KVGrpc.getTxnMethod(),
                keys.replace(KEY, now.revision(), value, NO_LEASE),
                calls.now() + PATIENCE_NANOS));
    return answer.getSucceeded();
  }

  private Stored stored() throws IOException {
    return Stored.single(
        await(calls.ask(KVGrpc.getRangeMethod(), keys.range(KEY), calls.now() + PATIENCE_NANOS)));
  }

  private Optional<Claim> claim(Stored stored) throws IOException {
    if (stored.value().isEmpty()) {
      return Optional.empty();
    }
    String text = new String(stored.value().get(), US_ASCII);
    Matcher claim = CLAIM.matcher(text);
    if (!claim.matches()) {
      throw new IOException(
          "%s: the key %s/%s has \"%s\", which is no instance"
              .formatted(calls, prefix, KEY, OneLine.of(text, 40)));
    }
    return Optional.of(new Claim(Long.parseLong(claim.group(1)), Long.parseLong(claim.group(2))));
  }

  private static <T> T await(CompletableFuture<T> answer) throws IOException {
    try {
      return answer.join();
    } catch (CompletionException e) {
      throw new IOException(EtcdFailure.of(e).getMessage(), e);
    }
  }

  @Override
  public void close() {
    calls.close();
  }
}
