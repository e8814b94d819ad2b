package dev.cinch.lease.witness;

import static dev.cinch.lease.witness.WitnessException.malformed;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Witness payloads to bytes and back; the layout is in the package's description. Bytes in, values
 * out. Thread-safe.
 */
public final class WitnessCodec {
  /** The longest holder, in bytes of UTF-8. */
  public static final int MAX_HOLDER_BYTES = 255;

  /** Bytes before the ids of the logs. */
  private static final int FIXED_BYTES = 134;

  /** Two empty sets less one count, an empty holder and a name of one character. */
  static final int MIN_PAYLOAD_BYTES = FIXED_BYTES + 2 + 2 + 1;

  /** Nothing longer is looked at, so that a damaged length costs no memory. */
  static final int MAX_PAYLOAD_BYTES =
      FIXED_BYTES + 2 + 2 * Witness.MAX_LOGS * Id.BYTES + 2 + 255 + MAX_HOLDER_BYTES;

  private static final int MAGIC = 'C' | 'L' << 8 | 'W' << 16;
  private static final int VERSION_SHIFT = 24;

  private static final int GRANTED = 3;
  private static final int RESUMED = 4;

  private static final int ASSUMED = 1;
  private static final int MEASURED = 2;
  private static final int ALL_LOGS = 0xFFFF;

  private WitnessCodec() {}

  /**
   * The one encoding of a witness.
   *
   * @throws IllegalArgumentException if it can't be encoded: a holder too long or not Unicode, too
   *     many logs, a number below 1
   */
  public static byte[] encode(Witness w) {
    byte[] holder = holderBytes(w.holder());
    byte[] name = w.name().value().getBytes(UTF_8);
    if (w.instance() < 1 || w.generation() < 1) {
      throw new IllegalArgumentException(
          "instance " + w.instance() + " and generation " + w.generation() + " must be at least 1");
    }
    int length =
        FIXED_BYTES
            + idBytes(w.logs())
            + 2
            + idBytes(w.fence().logs())
            + name.length
            + 2
            + holder.length;
    ByteBuffer out = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int version = w.resumed() ? RESUMED : GRANTED;
    out.putInt(length).putInt(MAGIC | version << VERSION_SHIFT);
    out.put((byte) (w.tentative() ? 1 : 0));
    out.put((byte) w.previousEnding().code());
    out.put((byte) (w.previous().isPresent() ? 1 : 0));
    out.put((byte) (w.time().kind() == TimeBound.Kind.MEASURED ? MEASURED : ASSUMED));
    out.putLong(w.instance()).putLong(w.generation()).putLong(w.expiry()).putLong(w.issuedAt());
    w.correlation().write(out);
    w.previous().orElse(new Id(0, 0)).write(out);
    out.putLong(w.previousEndedAt());
    out.putLong(w.watermark().timestamp()).putLong(w.watermark().signedTime());
    out.putLong(w.fence().upTo());
    out.putLong(w.time().earliest()).putLong(w.time().latest()).putLong(w.watermark().latest());
    putLogs(out, w.logs());
    putLogs(out, w.fence().logs());
    out.put((byte) name.length).put(name);
    out.put((byte) holder.length).put(holder);
    return out.array();
  }

  /**
   * A holder's bytes.
   *
   * @throws IllegalArgumentException for more than 255 bytes, or what is not Unicode
   */
  public static byte[] holderBytes(String holder) {
    if (holder.length() <= MAX_HOLDER_BYTES && isAscii(holder)) {
      return holder.getBytes(US_ASCII); // as nearly all are, which then need no encoder
    }
    ByteBuffer encoded;
    try {
      encoded = UTF_8.newEncoder().encode(CharBuffer.wrap(holder));
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("the holder is not well-formed Unicode", e);
    }
    if (encoded.remaining() > MAX_HOLDER_BYTES) {
      throw new IllegalArgumentException(
          "the holder has " + encoded.remaining() + " bytes of UTF-8, more than 255");
    }
    var bytes = new byte[encoded.remaining()];
    encoded.get(bytes);
    return bytes;
  }

  /**
   * Reads a payload that fills the array exactly.
   *
   * @throws WitnessException ({@code MALFORMED}) for anything but what {@link #encode} makes
   */
  public static Witness decode(byte[] payload) throws WitnessException {
    int length = payloadLength(payload);
    if (length != payload.length) {
      throw malformed("says " + length + " bytes, has " + payload.length);
    }
    return decode(payload, length);
  }

  /** Reads the payload that starts the array, of so many bytes as it says itself. */
  static Witness decode(byte[] bytes, int length) throws WitnessException {
    ByteBuffer in = ByteBuffer.wrap(bytes, 0, length).order(ByteOrder.LITTLE_ENDIAN);
    int version = in.getInt(4) >>> VERSION_SHIFT;
    in.position(8);
    boolean tentative = flag(in, "tentative");
    Ending ending = ending(in.get());
    boolean hasPrevious = flag(in, "previous");
    TimeBound.Kind kind = kind(in.get());
    long instance = in.getLong();
    long generation = in.getLong();
    if (instance < 1 || generation < 1) {
      throw malformed("instance " + instance + ", generation " + generation);
    }
    long expiry = in.getLong();
    long issuedAt = in.getLong();
    Id correlation = Id.read(in);
    Id previous = Id.read(in);
    if (!hasPrevious && !previous.equals(new Id(0, 0))) {
      throw malformed("an unknown previous lease has a correlation");
    }
    long endedAt = in.getLong();
    long watermark = in.getLong();
    long toldAt = in.getLong();
    long fenceUpTo = in.getLong();
    TimeBound time = bound(in, kind);
    long latest = in.getLong();
    LogSet logs = logs(in);
    var fence = new Fence(fenceUpTo, logs(in));
    if (fence.isNone() && !fence.logs().isEmpty()) {
      throw malformed("no fence, yet logs that it concerns");
    }
    LeaseName name = name(text(in, "name"));
    String holder = text(in, "holder");
    if (in.hasRemaining()) {
      throw malformed(in.remaining() + " bytes too many");
    }
    return new Witness(
        name,
        holder,
        instance,
        generation,
        tentative,
        logs,
        expiry,
        issuedAt,
        correlation,
        hasPrevious ? Optional.of(previous) : Optional.empty(),
        ending,
        endedAt,
        new Watermark(watermark, toldAt, latest),
        fence,
        version == RESUMED,
        time);
  }

  private static TimeBound.Kind kind(byte code) throws WitnessException {
    if (code != ASSUMED && code != MEASURED) {
      throw malformed("a bound of time of kind " + code);
    }
    return code == MEASURED ? TimeBound.Kind.MEASURED : TimeBound.Kind.ASSUMED;
  }

  private static TimeBound bound(ByteBuffer in, TimeBound.Kind kind) throws WitnessException {
    long earliest = in.getLong();
    long latest = in.getLong();
    if (earliest > latest) {
      throw malformed("a bound of time that ends before it begins");
    }
    return new TimeBound(earliest, latest, kind);
  }

  /**
   * The length of the payload that starts the array, which may hold more after it.
   *
   * @throws WitnessException ({@code MALFORMED}) if no payload starts there
   */
  static int payloadLength(byte[] bytes) throws WitnessException {
    if (bytes.length < MIN_PAYLOAD_BYTES) {
      throw malformed("only " + bytes.length + " bytes");
    }
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int length = in.getInt();
    int magic = in.getInt();
    int version = magic >>> VERSION_SHIFT;
    if ((magic & 0xFFFFFF) != MAGIC) {
      throw malformed("does not start as one");
    }
    if (version != GRANTED && version != RESUMED) {
      throw malformed("version " + version + ", this software knows 3 and 4");
    }
    if (length < MIN_PAYLOAD_BYTES || length > MAX_PAYLOAD_BYTES || length > bytes.length) {
      throw malformed("a payload of " + length + " bytes in " + bytes.length);
    }
    return length;
  }

  private static int idBytes(LogSet logs) {
    if (logs.ids().size() > Witness.MAX_LOGS) {
      throw new IllegalArgumentException(
          logs.ids().size() + " logs, more than " + Witness.MAX_LOGS);
    }
    return logs.ids().size() * Id.BYTES;
  }

  private static void putLogs(ByteBuffer out, LogSet logs) {
    if (logs.all() || logs.isEmpty()) { // as nearly all are
      out.putShort((short) (logs.all() ? ALL_LOGS : 0));
      return;
    }
    out.putShort((short) logs.ids().size());
    logs.ids().forEach(id -> id.write(out));
  }

  private static LogSet logs(ByteBuffer in) throws WitnessException {
    need(in, 2);
    int count = in.getShort() & 0xFFFF;
    if (count == ALL_LOGS) {
      return LogSet.ALL;
    }
    if (count > Witness.MAX_LOGS) {
      throw malformed(count + " logs, more than " + Witness.MAX_LOGS);
    }
    if (count == 0) {
      return LogSet.NONE;
    }
    need(in, count * Id.BYTES);
    var ids = new TreeSet<Id>();
    for (int i = 0; i < count; i++) {
      Id id = Id.read(in);
      if (!ids.isEmpty() && ids.last().compareTo(id) >= 0) {
        throw malformed("logs are not in ascending order");
      }
      ids.add(id);
    }
    return LogSet.of(ids);
  }

  private static boolean flag(ByteBuffer in, String what) throws WitnessException {
    byte value = in.get();
    if (value != 0 && value != 1) {
      throw malformed("the flag \"" + what + "\" is " + value);
    }
    return value == 1;
  }

  private static Ending ending(byte code) throws WitnessException {
    try {
      return Ending.ofCode(code);
    } catch (IllegalArgumentException e) {
      throw malformed(String.valueOf(e.getMessage()));
    }
  }

  private static LeaseName name(String text) throws WitnessException {
    try {
      return new LeaseName(text);
    } catch (IllegalArgumentException e) {
      throw malformed(String.valueOf(e.getMessage()));
    }
  }

  private static String text(ByteBuffer in, String what) throws WitnessException {
    need(in, 1);
    int length = in.get() & 0xFF;
    need(in, length);
    ByteBuffer slice = in.slice(in.position(), length);
    int at = in.arrayOffset() + in.position();
    in.position(in.position() + length);
    if (isAscii(in.array(), at, length)) {
      return new String(in.array(), at, length, US_ASCII);
    }
    try {
      return UTF_8.newDecoder().decode(slice).toString();
    } catch (CharacterCodingException e) {
      throw malformed("the " + what + " is not UTF-8");
    }
  }

  private static boolean isAscii(String text) {
    int all = 0;
    for (int i = 0; i < text.length(); i++) {
      all |= text.charAt(i);
    }
    return all < 0x80;
  }

  /** As nearly all text is, which then needs no decoder. */
  private static boolean isAscii(byte[] bytes, int from, int length) {
    int all = 0;
    for (int i = 0; i < length; i++) {
      all |= bytes[from + i];
    }
    return all >= 0;
  }

  private static void need(ByteBuffer in, int bytes) throws WitnessException {
    if (in.remaining() < bytes) {
      throw malformed("ends early, at byte " + in.position());
    }
  }
}
