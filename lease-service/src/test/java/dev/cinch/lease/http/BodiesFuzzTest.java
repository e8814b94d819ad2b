package dev.cinch.lease.http;

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
      case 0 -> check(body, WireReader::grant, OperationCodec::grant);
      case 1 -> check(body, WireReader::info, LeaseDocuments::info);
      case 2 ->
          check(
              body,
              in -> WireReader.infos(in, WireReader::info),
              all -> LeaseDocuments.infos(all, LeaseDocuments::info));
      case 3 -> check(body, WireReader::service, LeaseDocuments::service);
      case 4 -> check(body, WireReader::now, LeaseDocuments::now);
      case 5 -> check(body, WireReader::detail, LeaseDocuments::detail);
      case 6 -> check(body, BodiesFuzzTest::shown, o -> o);
      default ->
          check(
              body,
              WireReader::failure,
              f -> LeaseDocuments.error(f.error(), f.message(), f.retryAfterMs()));
    }
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
      assertEquals(found.get(), reader.read(JsonFields.parse(again)));
    }
  }
}
