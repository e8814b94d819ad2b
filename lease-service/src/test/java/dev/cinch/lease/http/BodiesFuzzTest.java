package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.fuzz.Hostile;
import java.util.Arrays;
import java.util.function.Function;

/**
 * Bodies of requests as the server reads them and of answers as the client does: what is taken says
 * the same when it is written again. The first byte chooses the kind.
 */
final class BodiesFuzzTest {
  /** Reads a body of one kind. */
  private interface Reader<T> {
    T read(Fields in) throws WireException;
  }

  @FuzzTest
  void request(byte[] data) throws WireException {
    byte[] body = body(data);
    switch (kind(data, 4)) {
      case 0 -> check(body, WireReader::acquire, WireWriter::acquire);
      case 1 -> check(body, WireReader::renew, WireWriter::renew);
      case 2 -> check(body, WireReader::upgrade, WireWriter::upgrade);
      default -> check(body, WireReader::release, WireWriter::release);
    }
  }

  @FuzzTest
  void answer(byte[] data) throws WireException {
    byte[] body = body(data);
    switch (kind(data, 6)) {
      case 0 -> check(body, WireReader::grant, WireWriter::grant);
      case 1 -> check(body, WireReader::info, WireWriter::info);
      case 2 -> check(body, WireReader::infos, WireWriter::infos);
      case 3 -> check(body, WireReader::service, WireWriter::service);
      case 4 -> check(body, WireReader::now, WireWriter::now);
      default ->
          check(
              body,
              WireReader::failure,
              f -> WireWriter.error(f.error(), f.message(), f.retryAfterMs()));
    }
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
        Hostile.parse(body.length, () -> reader.read(Fields.parse(body)), WireException.class);
    if (found.isPresent()) {
      byte[] again = WireWriter.bytes(writer.apply(found.get()));
      assertEquals(found.get(), reader.read(Fields.parse(again)));
    }
  }
}
