package dev.cinch.bag.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Ledger;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is written is read back; what was cut or altered anywhere is known for it. */
class CodecTest {
  private static final Name PATH = new Name("some/file");
  private static final Id ID = new Id(1, 2);
  private static final Bucket BUCKET = new Bucket(5_000_000_000L, 1_000_000_000L);
  private static final DataFileName NAME =
      new DataFileName(new MachineName("machine-7"), new Id(3, 4));

  /** Decodes, or throws. */
  private interface Decoder {
    Object decode(byte[] bytes) throws DamagedException;
  }

  private static void everyAlterationIsDamage(byte[] good, Decoder decoder) {
    for (int i = 0; i < good.length; i++) {
      for (int bit : new int[] {1, 0x80}) {
        byte[] bad = good.clone();
        bad[i] ^= (byte) bit;
        assertThrows(DamagedException.class, () -> decoder.decode(bad), "byte " + i);
      }
      byte[] cut = Arrays.copyOf(good, i);
      assertThrows(DamagedException.class, () -> decoder.decode(cut), "cut at " + i);
    }
    byte[] more = Arrays.copyOf(good, good.length + 1);
    assertThrows(DamagedException.class, () -> decoder.decode(more));
  }

  @Test
  void recordsAreReadBackAndEveryAlterationIsDamage() throws Exception {
    var buckets = List.of(new HorizonRecord.ClosedBucket(5_000_000_000L, "ab".repeat(32)));
    String keys = "ef".repeat(32);
    var record =
        new HorizonRecord(
            ID,
            7,
            -1,
            9_000_000_000L,
            "cd".repeat(32),
            2,
            keys,
            buckets,
            new Sums(3, 5, 700, 8_999_999_999L),
            "m-1",
            10);
    assertEquals(record, HorizonRecord.decode(record.encode(), PATH));
    everyAlterationIsDamage(record.encode(), b -> HorizonRecord.decode(b, PATH));
  }

  @Test
  void aRecordOfMoreBucketsThanOneMayListIsDamage() {
    var buckets = new ArrayList<HorizonRecord.ClosedBucket>();
    for (int i = 0; i <= HorizonRecord.MAX_BUCKETS; i++) {
      buckets.add(new HorizonRecord.ClosedBucket(i, "ab".repeat(32)));
    }
    String keys = "ef".repeat(32);
    byte[] record =
        new HorizonRecord(ID, 7, -1, 20_000, "", 2, keys, buckets, Sums.NONE, "m-1", 10).encode();
    assertThrows(DamagedException.class, () -> HorizonRecord.decode(record, PATH));
  }

  @Test
  void aFileOfAnotherVersionIsRefusedWithTheVersionThatItHas() throws Exception {
    var record =
        new HorizonRecord(ID, 7, -1, 9, "", 2, "ef".repeat(32), List.of(), Sums.NONE, "m-1", 10);
    String body = new String(record.encode(), StandardCharsets.UTF_8).split("\n", 2)[1];
    assertEquals(record, HorizonRecord.decode(record(3, body), PATH));
    for (String bad :
        new String[] {
          body.replace("keys", "key"),
          body.replace("efef\"", "EFEF\""),
          body.replace("Messages\" : 0", "Messages\" : -1"),
          body.replace("Buckets\" : 0", "Buckets\" : -1"),
          body.replace("Bytes\" : 0", "Bytes\" : -1"),
          body.replace("newest", "new")
        }) {
      assertThrows(DamagedException.class, () -> HorizonRecord.decode(record(3, bad), PATH), bad);
    }
    refused(HorizonRecord::decode, record.encode(), "record 3 ", 0, "3");
    refused(HorizonRecord::decode, record.encode(), "record 3 ", 2, "3");
    refused(HorizonRecord::decode, record.encode(), "record 3 ", 4, "3");
    var covered = new Checkpoint.Covered("ab".repeat(32), 5, 600);
    byte[] checkpoint = new Checkpoint(ID, 7, 9, "ef".repeat(32), 1, List.of(covered)).encode();
    refused(Checkpoint::decode, checkpoint, "checkpoint 4 ", 3, "4");
    refused(Checkpoint::decode, checkpoint, "checkpoint 4 ", 5, "4");
  }

  private interface Reading {
    Object decode(byte[] bytes, Name path) throws DamagedException;
  }

  private static void refused(Reading by, byte[] good, String now, int version, String known)
      throws DamagedException {
    Object unused = by.decode(good, PATH);
    String text = new String(good, StandardCharsets.UTF_8);
    String other = text.replaceFirst(now, now.replaceFirst("[34]", "" + version));
    var e =
        assertThrows(
            DamagedException.class,
            () -> by.decode(other.getBytes(StandardCharsets.UTF_8), PATH),
            other);
    assertEquals("format version " + known, e.expected());
    assertTrue(e.actual().startsWith("" + version), e.actual());
  }

  private static byte[] record(int version, String document) {
    byte[] body = document.getBytes(StandardCharsets.UTF_8);
    String line = "cinch record %d %d %s\n".formatted(version, body.length, Envelope.sha256(body));
    return (line + document).getBytes(StandardCharsets.UTF_8);
  }

  private interface FixedDecoder {
    Object decode(ByteBuffer in) throws DamagedException;
  }

  @Test
  void endsOfSegmentsAreReadBackAndEveryAlterationIsDamage() throws Exception {
    var header =
        new SegmentHeader(ID, new Id(8, 9), 1, 1, 2, 0, 9, "ab".repeat(32), BUCKET.width());
    var trailer = new SegmentTrailer(128, 100, 3, 1, 7);
    int seed = SegmentHeader.checksumOf(header.encode());
    FixedDecoder headers = in -> SegmentHeader.decode(in, PATH);
    FixedDecoder trailers = in -> SegmentTrailer.decode(in, seed, 228, PATH);
    assertEquals(header, headers.decode(header.encode()));
    assertEquals(trailer, trailers.decode(trailer.encode(seed)));
    everyFlipIsDamage(header.encode().array(), headers);
    everyFlipIsDamage(trailer.encode(seed).array(), trailers);
  }

  private static void everyFlipIsDamage(byte[] good, FixedDecoder decoder) {
    for (int i = 0; i < 8 * good.length; i++) {
      byte[] bad = good.clone();
      bad[i / 8] ^= (byte) (1 << i % 8);
      ByteBuffer in = ByteBuffer.wrap(bad).order(ByteOrder.LITTLE_ENDIAN);
      assertThrows(DamagedException.class, () -> decoder.decode(in), "bit " + i);
    }
  }

  @Test
  void headersAreReadBackAndEveryAlterationIsNoHeader() {
    for (int n : new int[] {1, 7, 8, 63}) {
      var name = new DataFileName(new MachineName("a".repeat(n)), new Id(3, 4));
      var header = new FileHeader(ID, new Id(8, 9), BUCKET, name);
      ByteBuffer bytes = header.encode();
      assertEquals(Optional.of(header), FileHeader.decode(bytes));
      for (int i = 0; i < header.length(); i++) {
        for (int bit = 1; bit < 256; bit <<= 1) {
          byte[] bad = bytes.array().clone();
          bad[i] ^= (byte) bit;
          ByteBuffer in = ByteBuffer.wrap(bad).order(ByteOrder.LITTLE_ENDIAN);
          assertEquals(Optional.empty(), FileHeader.decode(in), "byte " + i);
        }
        ByteBuffer cut = ByteBuffer.wrap(bytes.array(), 0, i).slice();
        assertEquals(Optional.empty(), FileHeader.decode(cut), "cut at " + i);
      }
    }
  }

  @Test
  void headsAndTrailersAreReadBackAtTheirOwnPlaceOnlyAndEveryAlterationIsNone() {
    var codec = new FrameCodec(ID);
    var other = new FrameCodec(new Id(1, 3));
    ByteBuffer out = ByteBuffer.allocate(68).order(ByteOrder.LITTLE_ENDIAN);
    var head = new FrameHead(100, 3, 77);
    var trailer = new Trailer(88, -5, 4, 5, 6);
    codec.putHead(out, head, 88);
    codec.putTrailer(out, trailer, 208);
    assertEquals(head, codec.head(out, 0, 88));
    assertEquals(trailer, codec.trailer(out, 20, 208));
    assertNull(codec.head(out, 0, 89));
    assertNull(codec.trailer(out, 20, 207));
    assertNull(other.head(out, 0, 88));
    assertNull(other.trailer(out, 20, 208));
    for (int i = 0; i < 68; i++) {
      out.put(i, (byte) (out.get(i) ^ 4));
      if (i < 20) {
        assertNull(codec.head(out, 0, 88), "byte " + i);
      } else {
        assertNull(codec.trailer(out, 20, 208), "byte " + i);
      }
      out.put(i, (byte) (out.get(i) ^ 4));
      ByteBuffer cut = out.duplicate().order(ByteOrder.LITTLE_ENDIAN).limit(i);
      if (i < 20) {
        assertNull(codec.head(cut, 0, 88));
      }
      assertNull(codec.trailer(cut, 20, 208));
    }
  }

  @Test
  void aDocumentWithAFieldTwiceOrMoreBehindItIsDamaged() throws Exception {
    String document =
        ("{\"log\":\"%s\",\"number\":5,\"to\":9,\"digest\":\"%s\",\"segment\":1,\"segments\":"
                + "[{\"digest\":\"%<s\",\"messages\":3,\"bytes\":4}]}")
            .formatted("00".repeat(Id.BYTES), "00".repeat(32));
    assertEquals(5, checkpoint(document).number());
    for (String bad :
        new String[] {
          document + "{}", document + "x", document.replace("{\"log", "{\"to\":8,\"log")
        }) {
      assertThrows(DamagedException.class, () -> checkpoint(bad), bad);
    }
  }

  private static Checkpoint checkpoint(String document) throws DamagedException {
    byte[] body = document.getBytes(StandardCharsets.UTF_8);
    String line = "cinch checkpoint 4 %d %s\n".formatted(body.length, Envelope.sha256(body));
    return Checkpoint.decode(
        (line + document).getBytes(StandardCharsets.UTF_8), new Name("checkpoint"));
  }

  @Test
  void messagesOfEverySizeAreReadBackInOneStepAndInTwo() throws Exception {
    Rig rig = Rig.memory(3);
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    var sent = new ArrayList<byte[]>();
    try (LogWriter writer = log.writer(Durability.CLOSE)) {
      for (int size : new int[] {0, 1, 16_383, 16_384, 16_385, 0, 1 << 20, 16_384 - 84, 2}) {
        byte[] payload = Ledger.payload("", size);
        sent.add(payload);
        assertNotEquals(0, writer.append(payload).timestamp());
      }
    }
    rig.settle(log);
    var found = new ArrayList<byte[]>();
    log.reader()
        .settled(
            Long.MIN_VALUE, Long.MAX_VALUE, true, m -> found.add(m.payload()), (m, f, why) -> {});
    assertEquals(sent.size(), found.size());
    for (int i = 0; i < sent.size(); i++) {
      assertArrayEquals(sent.get(i), found.get(i));
    }
  }
}
