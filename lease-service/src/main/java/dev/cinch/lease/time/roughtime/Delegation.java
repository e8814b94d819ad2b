package dev.cinch.lease.time.roughtime;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.Signatures;
import dev.cinch.lease.witness.SigningKey;

/**
 * The long-term key's permission for another one to sign times, from a second to a second.
 *
 * @param key that may sign
 * @param from the first second since the Unix epoch that it may say, unsigned
 * @param to the last one, unsigned
 */
record Delegation(PublicKey key, long from, long to) {
  private static final byte[] CONTEXT = "RoughTime v1 delegation signature\0".getBytes(US_ASCII);

  /** CERT. */
  static byte[] sign(SigningKey longTerm, PublicKey key, long from, long to) {
    byte[] delegation =
        new Message()
            .put(Tag.PUBK, key.bytes())
            .putLong(Tag.MINT, from)
            .putLong(Tag.MAXT, to)
            .encode();
    return new Message()
        .put(Tag.SIG, Signatures.sign(longTerm, CONTEXT, delegation))
        .put(Tag.DELE, delegation)
        .encode();
  }

  static Delegation verify(Message certificate, PublicKey longTerm) throws RoughtimeException {
    byte[] delegation = certificate.get(Tag.DELE);
    if (!Signatures.isBy(longTerm, certificate.get(Tag.SIG), CONTEXT, delegation)) {
      throw new RoughtimeException("the certificate is not signed by key " + longTerm);
    }
    Message said = Message.decode(delegation);
    return new Delegation(
        new PublicKey(said.get(Tag.PUBK, PublicKey.BYTES)),
        said.getLong(Tag.MINT),
        said.getLong(Tag.MAXT));
  }

  boolean covers(long seconds) {
    return Long.compareUnsigned(from, seconds) <= 0 && Long.compareUnsigned(seconds, to) <= 0;
  }
}
