package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The correlation of a grant: what its witnesses and those of its renewals have in common, and what
 * the next lease names as the one before.
 *
 * <p>The first half is the signed time of the grant. The second half is the beginning of SHA-256
 * over {@code "cinch-correlation"}, the request's secret id, the first half, the id of the store
 * that the service serves (all with the most significant byte first) and the lease's name in ASCII.
 * So a witness shows, to a service that never saw the grant, whether somebody has its secret, and
 * whether it was granted for the same store (rule L10); and nobody finds the secret by it.
 */
@CheckReturnValue
public final class Correlation {
  private static final byte[] DOMAIN = "cinch-correlation".getBytes(StandardCharsets.US_ASCII);

  /** In the place of the store's id where a service serves none. */
  public static final Id NO_STORE = new Id(0, 0);

  private Correlation() {}

  /**
   * Of a grant.
   *
   * @param secret the request's id
   * @param grantedAt signed time, nanoseconds since the Unix epoch
   * @param store that the service serves, or {@link #NO_STORE}
   */
  public static Id of(Id secret, LeaseName name, long grantedAt, Id store) {
    byte[] ascii = name.value().getBytes(StandardCharsets.US_ASCII);
    ByteBuffer in = ByteBuffer.allocate(DOMAIN.length + 2 * Id.BYTES + Long.BYTES + ascii.length);
    in.put(DOMAIN);
    secret.write(in);
    in.putLong(grantedAt);
    store.write(in);
    in.put(ascii);
    return new Id(grantedAt, ByteBuffer.wrap(Sha256.of(in.array())).getLong());
  }

  /** Whether the request with this secret was granted the lease, by a service of this store. */
  public static boolean isOf(Id secret, Witness witness, Id store) {
    Id correlation = witness.correlation();
    return of(secret, witness.name(), correlation.high(), store).equals(correlation);
  }
}
