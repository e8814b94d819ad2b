package dev.cinch.lease.witness;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * What somebody without the key can make of a signed witness by a single edit: none of it may be
 * taken anywhere. Stateless.
 */
public final class Tampering {
  private static final int ALONE = PublicKey.ID_BYTES + PublicKey.SIGNATURE_BYTES;
  private static final int HASH = HashTree.HASH_BYTES;

  private Tampering() {}

  /**
   * One edit.
   *
   * @param what was edited, for messages
   * @param witness says what its bytes say, or what they said before where they are none
   */
  public record Edit(String what, SignedWitness witness) {
    private static Edit of(String what, byte[] bytes, SignedWitness before) {
      try {
        return new Edit(what, WitnessVerifier.decode(bytes));
      } catch (WitnessException e) {
        return new Edit(what, new SignedWitness(before.witness(), bytes));
      }
    }

    @Override
    public String toString() {
      return what;
    }
  }

  /**
   * Each single bit of each byte once, each field, and what the parts behind the payload could be
   * exchanged for.
   *
   * @param other another witness by the same key, for its parts
   */
  public static List<Edit> of(SignedWitness good, SignedWitness other) {
    var edits = new ArrayList<Edit>();
    byte[] bytes = good.bytes();
    int payload = payload(bytes);
    for (int i = 0; i < bytes.length; i++) {
      byte[] bad = bytes.clone();
      bad[i] ^= (byte) (1 << i % Byte.SIZE);
      edits.add(Edit.of("byte " + i + " of " + bytes.length, bad, good));
    }
    byte[] rest = Arrays.copyOfRange(bytes, payload, bytes.length);
    for (int field = 0; field < Witness.class.getRecordComponents().length; field++) {
      byte[] said = WitnessCodec.encode(withAnother(field, good.witness()));
      edits.add(
          Edit.of(Witness.class.getRecordComponents()[field].getName(), join(said, rest), good));
    }
    for (int more : new int[] {-HASH, -1, 1, HASH}) {
      edits.add(Edit.of(more + " bytes", Arrays.copyOf(bytes, bytes.length + more), good));
    }
    byte[] theirs = other.bytes();
    byte[] begins = Arrays.copyOf(bytes, payload);
    byte[] ends = Arrays.copyOfRange(theirs, payload(theirs), theirs.length);
    edits.add(Edit.of("another's signature and path", join(begins, ends), good));
    boolean alone = rest.length == ALONE;
    edits.add(
        Edit.of(
            alone ? "a path behind it" : "the path cut off",
            Arrays.copyOf(bytes, payload + ALONE + (alone ? Integer.BYTES + HASH : 0)),
            good));
    return edits;
  }

  /** Signed bytes that are good, and a value beside them that says otherwise, for each field. */
  public static List<Edit> valuesOf(SignedWitness good) {
    var edits = new ArrayList<Edit>();
    for (int field = 0; field < Witness.class.getRecordComponents().length; field++) {
      edits.add(
          new Edit(
              "another " + Witness.class.getRecordComponents()[field].getName() + " than signed",
              new SignedWitness(withAnother(field, good.witness()), good.bytes())));
    }
    return edits;
  }

  private static int payload(byte[] signed) {
    try {
      return WitnessCodec.payloadLength(signed);
    } catch (WitnessException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] join(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  /** The same with one field that says something else. */
  private static Witness withAnother(int field, Witness w) {
    RecordComponent component = Witness.class.getRecordComponents()[field];
    try {
      Object value = component.getAccessor().invoke(w);
      return Altered.with(w, component.getName(), another(component.getName(), value, w));
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  private static Object another(String field, Object value, Witness w) {
    if (value instanceof Long number) {
      return number == Long.MIN_VALUE ? w.issuedAt() : number + 1;
    } else if (value instanceof Boolean flag) {
      return !flag;
    } else if (value instanceof String text) {
      return text + "x";
    } else if (value instanceof LeaseName name) {
      return new LeaseName(name.value() + "x");
    } else if (value instanceof Id id) {
      return new Id(id.high(), id.low() ^ 1);
    } else if (value instanceof Ending ending) {
      return ending == Ending.RELEASED ? Ending.BROKEN : Ending.RELEASED;
    } else if (value instanceof Watermark watermark) {
      return watermark.equals(Watermark.NONE)
          ? new Watermark(w.issuedAt() - 1, w.issuedAt(), w.issuedAt())
          : Watermark.NONE;
    } else if (value instanceof Fence fence) {
      return fence.isNone() ? new Fence(w.issuedAt() - 1, LogSet.ALL) : Fence.NONE;
    } else if (value instanceof LogSet logs) {
      return logs.all() ? LogSet.of(List.of(new Id(1, 2))) : LogSet.ALL;
    } else if (value instanceof TimeBound) {
      return TimeBound.around(w.issuedAt(), 7, TimeBound.Kind.MEASURED);
    } else if (value instanceof Optional<?> found) {
      return found.isPresent() ? Optional.empty() : Optional.of(new Id(3, 4));
    }
    throw new AssertionError("a field of another kind: " + field);
  }
}
