package dev.cinch.lease.time;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A message of Roughtime: values by their tags. There is one encoding of it, and no other is read.
 * Not thread-safe while it is filled; arrays are not copied.
 *
 * <p>A <b>packet</b> is {@code ROUGHTIM}, the length of the message, 4 bytes little-endian, and the
 * message. A <b>message</b> is the number of tags, where each value but the first begins, the tags,
 * ascending as unsigned numbers, then the values.
 */
final class RoughtimeMessage {
  static final int SIG = tag("SIG");
  static final int VER = tag("VER");
  static final int SRV = tag("SRV");
  static final int NONC = tag("NONC");
  static final int DELE = tag("DELE");
  static final int TYPE = tag("TYPE");
  static final int PATH = tag("PATH");
  static final int RADI = tag("RADI");
  static final int PUBK = tag("PUBK");
  static final int MIDP = tag("MIDP");
  static final int SREP = tag("SREP");
  static final int VERS = tag("VERS");
  static final int MINT = tag("MINT");
  static final int ROOT = tag("ROOT");
  static final int CERT = tag("CERT");
  static final int MAXT = tag("MAXT");
  static final int INDX = tag("INDX");
  static final int ZZZZ = tag("ZZZZ");

  /** Tags that a message may have. Those of this protocol have 7 at most. */
  private static final int MAX_TAGS = 1_024;

  /** How many versions a list of them may have. */
  private static final int MAX_VERSIONS = 32;

  private static final byte[] MAGIC = {'R', 'O', 'U', 'G', 'H', 'T', 'I', 'M'};

  /** Bytes before the message of a packet. */
  private static final int PACKET_HEADER = MAGIC.length + Integer.BYTES;

  private final TreeMap<Integer, byte[]> values = new TreeMap<>(Integer::compareUnsigned);

  /** Bytes that are not what they should be, or not signed by whom. One short line. */
  static final class Invalid extends Exception {
    private static final long serialVersionUID = 1;

    Invalid(String message) {
      super(message);
    }
  }

  /** Sets a value; its length is a multiple of four. */
  RoughtimeMessage put(int tag, byte[] value) {
    values.put(tag, value);
    return this;
  }

  RoughtimeMessage putInt(int tag, int... numbers) {
    ByteBuffer value = little(Integer.BYTES * numbers.length);
    for (int number : numbers) {
      value.putInt(number);
    }
    return put(tag, value.array());
  }

  /** A value that must be there. */
  byte[] get(int tag) throws Invalid {
    byte @Nullable [] value = values.get(tag);
    if (value == null) {
      throw new Invalid(name(tag) + " is missing");
    }
    return value;
  }

  /** A value of a length. */
  byte[] get(int tag, int length) throws Invalid {
    byte[] value = get(tag);
    if (value.length != length) {
      throw new Invalid(name(tag) + " has " + value.length + " bytes, not " + length);
    }
    return value;
  }

  int getInt(int tag) throws Invalid {
    return wrap(get(tag, Integer.BYTES)).getInt();
  }

  long getLong(int tag) throws Invalid {
    return wrap(get(tag, Long.BYTES)).getLong();
  }

  /** 1 to 32 numbers that ascend as unsigned ones. */
  int[] getVersions(int tag) throws Invalid {
    byte[] value = get(tag);
    int count = value.length / Integer.BYTES;
    if (value.length % Integer.BYTES != 0 || count < 1 || count > MAX_VERSIONS) {
      throw new Invalid(name(tag) + " has " + value.length + " bytes");
    }
    var numbers = new int[count];
    ByteBuffer in = wrap(value);
    for (int i = 0; i < count; i++) {
      numbers[i] = in.getInt();
      if (i > 0 && Integer.compareUnsigned(numbers[i - 1], numbers[i]) >= 0) {
        throw new Invalid(name(tag) + " does not ascend");
      }
    }
    return numbers;
  }

  byte[] encode() {
    int length = 2 * Integer.BYTES * values.size();
    for (byte[] value : values.values()) {
      length += value.length;
    }
    ByteBuffer out = little(length).putInt(values.size());
    int offset = 0;
    boolean first = true;
    for (byte[] value : values.values()) {
      if (!first) {
        out.putInt(offset);
      }
      first = false;
      offset += value.length;
    }
    values.keySet().forEach(out::putInt);
    values.values().forEach(out::put);
    return out.array();
  }

  /** As a packet. */
  byte[] packet() {
    byte[] message = encode();
    return little(PACKET_HEADER + message.length)
        .put(MAGIC)
        .putInt(message.length)
        .put(message)
        .array();
  }

  /** The message of a packet that ends with it. */
  static RoughtimeMessage ofPacket(byte[] packet) throws Invalid {
    if (packet.length < PACKET_HEADER
        || !Arrays.equals(packet, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw new Invalid("not a packet of Roughtime");
    }
    int length = wrap(packet).getInt(MAGIC.length);
    if (length != packet.length - PACKET_HEADER) {
      throw new Invalid(
          "a message of %s bytes in a packet of %d"
              .formatted(Integer.toUnsignedString(length), packet.length));
    }
    return decode(Arrays.copyOfRange(packet, PACKET_HEADER, packet.length));
  }

  static RoughtimeMessage decode(byte[] bytes) throws Invalid {
    int count = bytes.length < Integer.BYTES ? 0 : wrap(bytes).getInt();
    int header = 2 * Integer.BYTES * count;
    if (count < 1 || count > MAX_TAGS || bytes.length < header) {
      throw new Invalid(
          "a message of %d bytes with %s tags"
              .formatted(bytes.length, Integer.toUnsignedString(count)));
    }
    ByteBuffer in = wrap(bytes);
    int tags = Integer.BYTES * count;
    var message = new RoughtimeMessage();
    for (int i = 0; i < count; i++) {
      int tag = in.getInt(tags + Integer.BYTES * i);
      if (i > 0 && Integer.compareUnsigned(in.getInt(tags + Integer.BYTES * (i - 1)), tag) >= 0) {
        throw new Invalid("tag " + name(tag) + " is not above the one before");
      }
      int from = i == 0 ? 0 : in.getInt(Integer.BYTES * i);
      int to = i == count - 1 ? bytes.length - header : in.getInt(Integer.BYTES * (i + 1));
      if (from % Integer.BYTES != 0 || from < 0 || to < from || to > bytes.length - header) {
        throw new Invalid(
            "the value of %s is from %d to %d of %d"
                .formatted(name(tag), from, to, bytes.length - header));
      }
      message.values.put(tag, Arrays.copyOfRange(bytes, header + from, header + to));
    }
    return message;
  }

  /** The number that a tag is sorted by. */
  private static int tag(String name) {
    int tag = 0;
    for (int i = 0; i < name.length(); i++) {
      tag |= name.charAt(i) << (8 * i);
    }
    return tag;
  }

  /** Its name, for messages; a tag that is not of letters as a number. */
  static String name(int tag) {
    var name = new byte[4];
    int length = 0;
    for (int rest = tag; rest != 0; rest >>>= 8) {
      int letter = rest & 0xff;
      if (letter < 'A' || letter > 'Z') {
        return "0x%08x".formatted(tag);
      }
      name[length++] = (byte) letter;
    }
    return new String(name, 0, length, StandardCharsets.US_ASCII);
  }

  private static ByteBuffer little(int length) {
    return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static ByteBuffer wrap(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
