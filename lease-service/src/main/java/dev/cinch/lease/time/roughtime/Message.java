package dev.cinch.lease.time.roughtime;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A message: values by their tags. There is one encoding of it, and no other is read. Not
 * thread-safe while it is filled; arrays are not copied.
 */
final class Message {
  /** Tags that a message may have. Those of this protocol have 7 at most. */
  static final int MAX_TAGS = 1_024;

  private static final byte[] MAGIC = {'R', 'O', 'U', 'G', 'H', 'T', 'I', 'M'};

  /** Bytes before the message of a packet. */
  static final int PACKET_HEADER = MAGIC.length + Integer.BYTES;

  private final TreeMap<Integer, byte[]> values = new TreeMap<>(Integer::compareUnsigned);

  /** Sets a value; its length is a multiple of four. */
  Message put(int tag, byte[] value) {
    values.put(tag, value);
    return this;
  }

  Message putInt(int tag, int... numbers) {
    var value = new byte[Integer.BYTES * numbers.length];
    ByteBuffer out = wrap(value);
    for (int number : numbers) {
      out.putInt(number);
    }
    return put(tag, value);
  }

  Message putLong(int tag, long number) {
    return put(tag, little(Long.BYTES).putLong(number).array());
  }

  boolean has(int tag) {
    return values.containsKey(tag);
  }

  /** A value that must be there. */
  byte[] get(int tag) throws RoughtimeException {
    byte @Nullable [] value = values.get(tag);
    if (value == null) {
      throw new RoughtimeException(Tag.name(tag) + " is missing");
    }
    return value;
  }

  /** A value of a length. */
  byte[] get(int tag, int length) throws RoughtimeException {
    byte[] value = get(tag);
    if (value.length != length) {
      throw new RoughtimeException(
          Tag.name(tag) + " has " + value.length + " bytes, not " + length);
    }
    return value;
  }

  int getInt(int tag) throws RoughtimeException {
    return wrap(get(tag, Integer.BYTES)).getInt();
  }

  long getLong(int tag) throws RoughtimeException {
    return wrap(get(tag, Long.BYTES)).getLong();
  }

  /** 1 to 32 numbers that ascend as unsigned ones. */
  int[] getVersions(int tag) throws RoughtimeException {
    byte[] value = get(tag);
    int count = value.length / Integer.BYTES;
    if (value.length % Integer.BYTES != 0 || count < 1 || count > Versions.MAX) {
      throw new RoughtimeException(Tag.name(tag) + " has " + value.length + " bytes");
    }
    var numbers = new int[count];
    ByteBuffer in = wrap(value);
    for (int i = 0; i < count; i++) {
      numbers[i] = in.getInt();
      if (i > 0 && Integer.compareUnsigned(numbers[i - 1], numbers[i]) >= 0) {
        throw new RoughtimeException(Tag.name(tag) + " does not ascend");
      }
    }
    return numbers;
  }

  Message getMessage(int tag) throws RoughtimeException {
    return decode(get(tag));
  }

  byte[] encode() {
    int length = 2 * Integer.BYTES * values.size();
    for (byte[] value : values.values()) {
      length += value.length;
    }
    var message = new byte[length];
    ByteBuffer out = wrap(message).putInt(values.size());
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
    return message;
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
  static Message ofPacket(byte[] packet) throws RoughtimeException {
    if (packet.length < PACKET_HEADER
        || !Arrays.equals(packet, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw new RoughtimeException("not a packet of Roughtime");
    }
    int length = wrap(packet).getInt(MAGIC.length);
    if (length != packet.length - PACKET_HEADER) {
      throw new RoughtimeException(
          "a message of %s bytes in a packet of %d"
              .formatted(Integer.toUnsignedString(length), packet.length));
    }
    return decode(Arrays.copyOfRange(packet, PACKET_HEADER, packet.length));
  }

  static Message decode(byte[] bytes) throws RoughtimeException {
    int count = bytes.length < Integer.BYTES ? 0 : wrap(bytes).getInt();
    int header = 2 * Integer.BYTES * count;
    if (count < 1 || count > MAX_TAGS || bytes.length < header) {
      throw new RoughtimeException(
          "a message of %d bytes with %s tags"
              .formatted(bytes.length, Integer.toUnsignedString(count)));
    }
    ByteBuffer in = wrap(bytes);
    int tags = Integer.BYTES * count;
    var message = new Message();
    for (int i = 0; i < count; i++) {
      int tag = in.getInt(tags + Integer.BYTES * i);
      if (i > 0 && Integer.compareUnsigned(in.getInt(tags + Integer.BYTES * (i - 1)), tag) >= 0) {
        throw new RoughtimeException("tag " + Tag.name(tag) + " is not above the one before");
      }
      int from = i == 0 ? 0 : in.getInt(Integer.BYTES * i);
      int to = i == count - 1 ? bytes.length - header : in.getInt(Integer.BYTES * (i + 1));
      if (from % Integer.BYTES != 0 || from < 0 || to < from || to > bytes.length - header) {
        throw new RoughtimeException(
            "the value of %s is from %d to %d of %d"
                .formatted(Tag.name(tag), from, to, bytes.length - header));
      }
      message.values.put(tag, Arrays.copyOfRange(bytes, header + from, header + to));
    }
    return message;
  }

  private static ByteBuffer little(int length) {
    return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static ByteBuffer wrap(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public String toString() {
    var text = new StringBuilder("Message[");
    for (Map.Entry<Integer, byte[]> value : values.entrySet()) {
      text.append(Tag.name(value.getKey())).append('(').append(value.getValue().length).append(')');
    }
    return text.append(']').toString();
  }
}
