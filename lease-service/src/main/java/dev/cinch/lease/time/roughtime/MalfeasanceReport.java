package dev.cinch.lease.time.roughtime;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.witness.PublicKey;
import java.io.IOException;
import java.util.Base64;

/** A chain as a document that proves itself: JSON, as the protocol has it. Stateless. */
public final class MalfeasanceReport {
  /** Its media type. */
  public static final String MEDIA_TYPE = "application/roughtime-malfeasance+json";

  /** Responses that a report may have. */
  public static final int MAX_RESPONSES = 1_000;

  private static final JsonTree JSON = JsonTree.of(new JsonFactoryBuilder(), true);
  private static final JsonTree LINE = JsonTree.of(new JsonFactoryBuilder(), false);

  private MalfeasanceReport() {}

  /** The document, in UTF-8, for people to look at. */
  public static byte[] write(RoughtimeChain chain) {
    return JSON.write(tree(chain));
  }

  /** The document, in one line of UTF-8, without a newline. */
  public static byte[] line(RoughtimeChain chain) {
    return LINE.write(tree(chain));
  }

  private static ObjectNode tree(RoughtimeChain chain) {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    ArrayNode responses = document.putArray("responses");
    boolean first = true;
    for (RoughtimeChain.Link link : chain.links()) {
      ObjectNode response = responses.addObject();
      response.put("publicKey", ServerKeys.text(link.server()));
      if (!first) {
        response.put("rand", text(link.random()));
      }
      response.put("request", text(link.request().packet()));
      response.put("response", text(link.reply().packet()));
      first = false;
    }
    return document;
  }

  private static String text(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  /**
   * Reads a report and checks that its responses were given, by the servers with those keys, in
   * that order.
   *
   * @throws RoughtimeException if that is not so, or it is no report
   */
  public static RoughtimeChain read(byte[] document) throws RoughtimeException {
    JsonNode responses = tree(document).path("responses");
    if (!responses.isArray() || responses.isEmpty() || responses.size() > MAX_RESPONSES) {
      throw new RoughtimeException("not a report: no list of 1 to " + MAX_RESPONSES + " responses");
    }
    var chain = new RoughtimeChain();
    int number = 0;
    for (JsonNode response : responses) {
      number++;
      try {
        chain.add(link(response, number == 1));
      } catch (RoughtimeException e) {
        throw new RoughtimeException("response " + number + ": " + e.getMessage());
      }
    }
    return chain;
  }

  private static JsonNode tree(byte[] document) throws RoughtimeException {
    try {
      return JSON.read(document);
    } catch (JsonProcessingException e) {
      throw new RoughtimeException("not a report: not JSON");
    } catch (IOException e) {
      throw new RoughtimeException("not a report: not text");
    }
  }

  private static RoughtimeChain.Link link(JsonNode response, boolean first)
      throws RoughtimeException {
    var key = new PublicKey(bytes(response, "publicKey", PublicKey.BYTES));
    byte[] random = first ? new byte[0] : bytes(response, "rand", RoughtimeChain.RANDOM_BYTES);
    var request = RoughtimeRequest.sent(bytes(response, "request", -1));
    var reply = RoughtimeReply.verify(bytes(response, "response", -1), request, key);
    return new RoughtimeChain.Link(key, random, request, reply);
  }

  /** A field in base64; of a length, unless that is -1. */
  private static byte[] bytes(JsonNode object, String field, int length) throws RoughtimeException {
    JsonNode value = object.path(field);
    if (!value.isTextual()) {
      throw new RoughtimeException("no text for \"" + field + "\"");
    }
    byte[] bytes;
    try {
      bytes = Base64.getDecoder().decode(value.textValue());
    } catch (IllegalArgumentException e) {
      throw new RoughtimeException("\"" + field + "\" is not base64");
    }
    if (length >= 0 && bytes.length != length) {
      throw new RoughtimeException(
          "\"" + field + "\" has " + bytes.length + " bytes, not " + length);
    }
    return bytes;
  }
}
