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
    request(Wire.JSON, data);
  }

  @FuzzTest
  void answer(byte[] data) throws WireException {
    byte[] body = body(data);
    switch (kind(data, 7)) {
      case 0 -> check(Wire.JSON, body, WireReader::grant, g -> LeaseDocuments.grant(g, Wire.JSON));
      case 1 -> check(Wire.JSON, body, WireReader::info, LeaseDocuments::info);
      case 2 ->
          check(
              Wire.JSON,
              body,
              in -> WireReader.infos(in, WireReader::info),
              all -> LeaseDocuments.infos(all, LeaseDocuments::info));
      case 3 -> check(Wire.JSON, body, WireReader::service, LeaseDocuments::service);
      case 4 -> check(Wire.JSON, body, WireReader::now, LeaseDocuments::now);
      case 5 -> check(Wire.JSON, body, WireReader::detail, LeaseDocuments::detail);
      default ->
          check(
              Wire.JSON,
              body,
              WireReader::failure,
              f -> LeaseDocuments.error(f.error(), f.message(), f.retryAfterMs()));
    }
  }

  /** In CBOR, and what only batches have. */
  @FuzzTest
  void binary(byte[] data) throws WireException {
    request(Wire.CBOR, data);
    byte[] body = body(data);
    check(Wire.CBOR, body, WireReader::grant, g -> LeaseDocuments.grant(g, Wire.CBOR));
    for (Wire wire : Wire.values()) {
      check(wire, body, OperationCodec::readBatch, o -> OperationCodec.writeBatch(o, wire));
      check(Wire.JSON, body, BodiesFuzzTest::shown, o -> o);
    }
  }

  /** Outcomes as they are written: refusals are exceptions, which equal none but themselves. */
  private static ObjectNode shown(JsonFields in) throws WireException {
    return OperationCodec.writeOutcomes(OperationCodec.readOutcomes(in), Wire.JSON);
  }

  private static void request(Wire wire, byte[] data) throws WireException {
    List<String> verbs = List.of("acquire", "renew", "upgrade", "release", "revoke");
    String verb = verbs.get(kind(data, verbs.size()));
    check(
        wire,
        body(data),
        in -> OperationCodec.read(verb, in, true),
        operation -> OperationCodec.write(operation, wire));
  }

  private static int kind(byte[] data, int kinds) {
    return data.length == 0 ? 0 : (data[0] & 0xff) % kinds;
  }

  private static byte[] body(byte[] data) {
    return data.length == 0 ? data : Arrays.copyOfRange(data, 1, data.length);
  }

  private static <T> void check(
      Wire wire, byte[] body, Reader<T> reader, Function<T, ObjectNode> writer)
      throws WireException {
    var found = Hostile.parse(body.length, () -> reader.read(wire.read(body)), WireException.class);
    if (found.isPresent()) {
      byte[] again = wire.write(writer.apply(found.get()));
      assertEquals(found.get(), reader.read(wire.read(again)));
    }
  }
}
