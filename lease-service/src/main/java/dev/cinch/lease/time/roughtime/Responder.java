package dev.cinch.lease.time.roughtime;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.Signatures;
import dev.cinch.lease.witness.SigningKey;
import java.util.ArrayList;
import java.util.List;

/**
 * A server without its socket: answers requests, all that wait under one signature. Not
 * thread-safe.
 *
 * <p>Times are signed with a key that it draws and the long-term key delegates, for a day each.
 */
public final class Responder {
  /** Requests that one signature answers. */
  public static final int BATCH = 64;

  /** How long a delegated key may sign, seconds. Half of it later there is a new one. */
  private static final long DELEGATED = 86_400;

  /** Without news of leap seconds, the radius is at least that; seconds. */
  private static final long LEAP = 3;

  private static final long SECOND = 1_000_000_000L;

  private final SigningKey longTerm;
  private SigningKey online;
  private byte[] certificate = {};
  private long from = Long.MAX_VALUE;

  public Responder(SigningKey longTerm) {
    this.longTerm = longTerm;
    this.online = longTerm; // until the first answer
  }

  /** The key that clients know it by. */
  public PublicKey publicKey() {
    return longTerm.publicKey();
  }

  /**
   * Answers.
   *
   * @param requests 1 to {@link #BATCH}
   * @param now between which times it is
   * @return a packet for each request, in their order
   */
  public List<byte[]> answer(List<RoughtimeRequest> requests, TimeBound now) {
    // Rounded to a second: the radius covers what that adds.
    long midpoint = Math.floorDiv(now.midpoint(), SECOND);
    long radius = Math.max(LEAP, now.radius() / SECOND + 2);
    delegate(midpoint);
    var tree = new MerkleTree(requests.stream().map(RoughtimeRequest::packet).toList());
    var responses = new ArrayList<byte[]>();
    var signed = new ArrayList<Signed>();
    for (int i = 0; i < requests.size(); i++) {
      RoughtimeRequest request = requests.get(i);
      Signed said = signed(signed, request.version(), midpoint, radius, tree.root());
      responses.add(
          new Message()
              .put(Tag.SIG, said.signature)
              .put(Tag.NONC, request.nonce())
              .putInt(Tag.TYPE, RoughtimeReply.TYPE)
              .put(Tag.PATH, tree.path(i))
              .put(Tag.SREP, said.response)
              .put(Tag.CERT, certificate)
              .putInt(Tag.INDX, i)
              .packet());
    }
    return responses;
  }

  @SuppressWarnings("ArrayRecordComponent") // nobody compares them
  private record Signed(int version, byte[] response, byte[] signature) {}

  /** One for each version that was asked for. */
  private Signed signed(List<Signed> before, int version, long midpoint, long radius, byte[] root) {
    for (Signed one : before) {
      if (one.version == version) {
        return one;
      }
    }
    byte[] response =
        new Message()
            .putInt(Tag.VER, version)
            .putInt(Tag.RADI, (int) Math.min(Integer.MAX_VALUE, radius))
            .putLong(Tag.MIDP, midpoint)
            .putInt(Tag.VERS, Versions.ours())
            .put(Tag.ROOT, root)
            .encode();
    var one =
        new Signed(version, response, Signatures.sign(online, RoughtimeReply.CONTEXT, response));
    before.add(one);
    return one;
  }

  /** Draws another key where the one that it has is old, or the clock was set back. */
  private void delegate(long now) {
    if (now < from || now - from > DELEGATED / 2) {
      online = SigningKey.generate();
      from = now;
      certificate = Delegation.sign(longTerm, online.publicKey(), from, from + DELEGATED);
    }
  }
}
