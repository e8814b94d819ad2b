package dev.cinch.lease.time.roughtime;

import dev.cinch.lease.witness.PublicKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Responses in the order in which they came, of which each request but the first was made from the
 * response before: so anybody can check that they came in this order. Not thread-safe.
 */
public final class RoughtimeChain {
  /** Bytes that are drawn for each nonce. */
  static final int RANDOM_BYTES = 32;

  private final List<Link> links = new ArrayList<>();

  /**
   * One response.
   *
   * @param server its long-term key
   * @param random what its nonce was made of, besides the response before
   */
  @SuppressWarnings("ArrayRecordComponent") // nobody compares them, nobody changes the bytes
  record Link(PublicKey server, byte[] random, RoughtimeRequest request, RoughtimeReply reply) {}

  /**
   * Two responses that can't both be right: the earlier one says that it is later.
   *
   * @param earlier the place of the earlier one, from 0
   * @param later the place of the later one
   * @param seconds by how much, 1 or more
   */
  public record Conflict(int earlier, int later, long seconds) {}

  /** What the next server is to be asked, and what that was made of. */
  public static final class Question {
    private final PublicKey server;
    private final byte[] random;
    private final RoughtimeRequest request;

    private Question(PublicKey server, byte[] random, RoughtimeRequest request) {
      this.server = server;
      this.random = random;
      this.request = request;
    }

    /** The server's long-term key. */
    public PublicKey server() {
      return server;
    }

    public RoughtimeRequest request() {
      return request;
    }
  }

  /**
   * What to ask a server next.
   *
   * @param source a secure one: who can guess a nonce can sign an answer in advance
   */
  public Question next(PublicKey server, RandomGenerator source) {
    var random = new byte[RANDOM_BYTES];
    source.nextBytes(random);
    return new Question(server, random, RoughtimeRequest.of(server, nonce(random)));
  }

  private byte[] nonce(byte[] random) {
    return links.isEmpty()
        ? random.clone()
        : Hashes.hash(links.get(links.size() - 1).reply.packet(), random);
  }

  /** Takes the answer to the last question. */
  public void add(Question question, RoughtimeReply reply) {
    links.add(new Link(question.server, question.random, question.request, reply));
  }

  /**
   * Takes a link of a report.
   *
   * @throws RoughtimeException if its nonce is not made of the response before
   */
  void add(Link link) throws RoughtimeException {
    if (!links.isEmpty() && !Arrays.equals(link.request.nonce(), nonce(link.random))) {
      throw new RoughtimeException(
          "the nonce of response " + (links.size() + 1) + " is not made of the one before");
    }
    links.add(link);
  }

  /** The responses, in their order. */
  public List<RoughtimeReply> replies() {
    return links.stream().map(Link::reply).toList();
  }

  /** The long-term keys of the servers that gave them. */
  public List<PublicKey> servers() {
    return links.stream().map(Link::server).toList();
  }

  List<Link> links() {
    return List.copyOf(links);
  }

  /** All pairs of responses that contradict each other; none proves that all servers are right. */
  public List<Conflict> conflicts() {
    var conflicts = new ArrayList<Conflict>();
    for (int j = 0; j < links.size(); j++) {
      RoughtimeReply later = links.get(j).reply;
      for (int i = 0; i < j; i++) {
        RoughtimeReply earlier = links.get(i).reply;
        long seconds =
            earlier.midpointSeconds()
                - earlier.radiusSeconds()
                - later.midpointSeconds()
                - later.radiusSeconds();
        if (seconds > 0) {
          conflicts.add(new Conflict(i, j, seconds));
        }
      }
    }
    return conflicts;
  }
}
