package dev.cinch.lease.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.fuzz.Hostile;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/**
 * Bodies of requests as the server reads them and of answers as the client does: what is taken says
 * the same when it is written again. The first byte chooses the kind.
 */
final class BodiesFuzzTest {
  /** Reads a body of one kind. */
  private interface Reader<T> {
    T read(JsonFields in) throws WireException;
  }

  @FuzzTest
  void request(byte[] data) throws WireException {
    List<String> verbs = List.of("acquire", "renew", "upgrade", "release", "revoke");
    int kind = kind(data, verbs.size() + 1);
    if (kind == verbs.size()) {
      check(body(data), OperationCodec::readBatch, OperationCodec::writeBatch);
    } else {
      check(
          body(data), in -> OperationCodec.read(verbs.get(kind), in, true), OperationCodec::write);
    }
  }

  @FuzzTest
  void answer(byte[] data) throws WireException {
    byte[] body = body(data);
    switch (kind(data, 8)) {
      case 0 -> check(body, LeaseDocuments::grant);
      case 1 -> check(body, LeaseDocuments::info);
      case 2 -> check(body, LeaseDocuments::infos);
      case 3 -> check(body, LeaseDocuments::service);
      case 4 -> check(body, LeaseDocuments::now);
      case 5 -> check(body, LeaseDocuments::detail);
      case 6 -> check(body, BodiesFuzzTest::shown, o -> o);
      default -> check(body, LeaseDocuments::failure);
    }
  }

  private static <T> void check(byte[] body, Fields.Document<T> document) throws WireException {
    check(body, in -> Fields.read(document, in), read -> Fields.write(document, read));
  }

  /** Outcomes as they are written: refusals are exceptions, which equal none but themselves. */
  private static ObjectNode shown(JsonFields in) throws WireException {
    return OperationCodec.writeOutcomes(OperationCodec.readOutcomes(in));
  }

  private static int kind(byte[] data, int kinds) {
    return data.length == 0 ? 0 : (data[0] & 0xff) % kinds;
  }

  private static byte[] body(byte[] data) {
    return data.length == 0 ? data : Arrays.copyOfRange(data, 1, data.length);
  }

  private static <T> void check(byte[] body, Reader<T> reader, Function<T, ObjectNode> writer)
      throws WireException {
    var found =
        Hostile.parse(body.length, () -> reader.read(JsonFields.parse(body)), WireException.class);
    if (found.isPresent()) {
      byte[] again = LeaseDocuments.bytes(writer.apply(found.get()));
      assertEquals(found.get(), reader.read(JsonFields.parseAnswer(again)));
    }
  }
}
