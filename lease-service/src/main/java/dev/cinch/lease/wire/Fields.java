package dev.cinch.lease.wire;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The fields of one object of JSON, read or written: a {@link Document} names them once for both.
 * Each method writes what a value has, or reads it, and returns it. Not thread-safe.
 *
 * @param <T> what the object stands for
 */
public final class Fields<T> {
  /** What an object has, in order; made anew from what its fields return. */
  @FunctionalInterface
  public interface Document<T> {
    T of(Fields<T> fields) throws WireException;
  }

  /** Takes a field from an object, by its name. */
  @FunctionalInterface
  private interface Reading<V> {
    V of(JsonFields in, String name) throws WireException;
  }

  /** What a field has. */
  public record Kind<V>(Reading<V> reading, Function<V, JsonNode> writing) {}

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  public static final Kind<String> TEXT = new Kind<>(JsonFields::text, NODES::textNode);
  public static final Kind<Long> INTEGER = new Kind<>(JsonFields::integer, NODES::numberNode);
  public static final Kind<Boolean> FLAG = new Kind<>(JsonFields::flag, NODES::booleanNode);
  public static final Kind<Id> ID = new Kind<>(JsonFields::id, id -> NODES.textNode(id.toString()));

  /** As text: as a number many readers round nanoseconds. */
  public static final Kind<Long> TIME =
      new Kind<>(JsonFields::time, nanos -> NODES.textNode(IsoTime.text(nanos)));

  public static final Kind<LeaseName> NAME =
      new Kind<>((in, field) -> name(in.text(field)), name -> NODES.textNode(name.value()));
  public static final Kind<List<LeaseName>> NAMES =
      new Kind<>(Fields::names, all -> array(all, name -> NODES.textNode(name.value())));
  public static final Kind<List<String>> TEXTS =
      new Kind<>(JsonFields::texts, all -> array(all, NODES::textNode));

  /** {@code "all"}, or an array of ids. */
  public static final Kind<LogSet> LOGS =
      new Kind<>(
          Fields::logs,
          logs ->
              logs.all()
                  ? NODES.textNode("all")
                  : array(List.copyOf(logs.ids()), id -> NODES.textNode(id.toString())));

  /** Each as its signed bytes in base64url. */
  public static final Kind<List<SignedWitness>> WITNESSES =
      new Kind<>(Fields::witnesses, all -> array(all, w -> NODES.binaryNode(w.bytes())));

  /** An object with these fields and no others. */
  public static <V> Kind<V> an(Document<V> document) {
    return new Kind<>((in, name) -> read(document, in.object(name)), v -> write(document, v));
  }

  /** An object of a version that may say more. */
  public static <V> Kind<V> some(Document<V> document) {
    return new Kind<>((in, name) -> readSome(document, in.object(name)), v -> write(document, v));
  }

  /** An array of objects. */
  public static <V> Kind<List<V>> list(Document<V> document) {
    return new Kind<>(
        (in, name) -> {
          var found = new ArrayList<V>();
          for (JsonFields each : in.objects(name)) {
            found.add(read(document, each));
          }
          return found;
        },
        all -> array(all, each -> write(document, each)));
  }

  /** The name of a constant. */
  public static <E extends Enum<E>> Kind<E> of(Class<E> type, String what) {
    return new Kind<>(
        (in, name) -> {
          try {
            return Enum.valueOf(type, in.text(name));
          } catch (IllegalArgumentException e) {
            throw in.wrong(name, what);
          }
        },
        constant -> NODES.textNode(constant.name()));
  }

  private final @Nullable JsonFields in;
  private final @Nullable T value;
  private final ObjectNode out = NODES.objectNode();

  private Fields(@Nullable JsonFields in, @Nullable T value) {
    this.in = in;
    this.value = value;
  }

  public static <T> ObjectNode write(Document<T> document, T value) {
    var fields = new Fields<>(null, value);
    try {
      T unused = document.of(fields);
    } catch (WireException e) {
      throw new IllegalStateException("a value that can't be written", e);
    }
    return fields.out;
  }

  /** Reads an object that has these fields and no others. */
  public static <T> T read(Document<T> document, JsonFields in) throws WireException {
    T read = readSome(document, in);
    in.noOthers();
    return read;
  }

  /** Reads an object of a version that may say more. */
  public static <T> T readSome(Document<T> document, JsonFields in) throws WireException {
    return document.of(new Fields<T>(in, null));
  }

  public <V> V get(String name, Function<T, V> of, Kind<V> kind) throws WireException {
    if (in != null) {
      return kind.reading().of(in, name);
    }
    V field = of.apply(Objects.requireNonNull(value));
    out.set(name, kind.writing().apply(field));
    return field;
  }

  /**
   * A field that is left out where it has nothing to say.
   *
   * @param none what it is then
   */
  public <V> V get(String name, Function<T, V> of, Kind<V> kind, V none) throws WireException {
    boolean is = in == null ? !of.apply(Objects.requireNonNull(value)).equals(none) : in.has(name);
    return is ? get(name, of, kind) : none;
  }

  /** Likewise, of what may be empty. */
  public <V> Optional<V> find(String name, Function<T, Optional<V>> of, Kind<V> kind)
      throws WireException {
    boolean is = in == null ? of.apply(Objects.requireNonNull(value)).isPresent() : in.has(name);
    return is ? Optional.of(get(name, v -> of.apply(v).orElseThrow(), kind)) : Optional.empty();
  }

  /** Likewise. */
  public OptionalLong findLong(String name, Function<T, OptionalLong> of, Kind<Long> kind)
      throws WireException {
    Function<T, Optional<Long>> boxed = v -> of.apply(v).stream().boxed().findFirst();
    return find(name, boxed, kind).stream().mapToLong(Long::longValue).findFirst();
  }

  /** What was read is not what it has to be; nothing that is written is so. */
  public void require(boolean holds, String what) throws WireException {
    if (in != null && !holds) {
      throw new WireException(what);
    }
  }

  public static LeaseName name(String text) throws WireException {
    try {
      return new LeaseName(text);
    } catch (IllegalArgumentException e) {
      throw new WireException(String.valueOf(e.getMessage()));
    }
  }

  private static List<LeaseName> names(JsonFields in, String field) throws WireException {
    var names = new ArrayList<LeaseName>();
    for (String text : in.texts(field)) {
      names.add(name(text));
    }
    return names;
  }

  private static LogSet logs(JsonFields in, String name) throws WireException {
    if (!in.isText(name)) {
      return LogSet.of(in.ids(name));
    }
    if (!in.text(name).equals("all")) {
      throw in.wrong(name, "\"all\" or an array of log ids");
    }
    return LogSet.ALL;
  }

  private static List<SignedWitness> witnesses(JsonFields in, String name) throws WireException {
    var witnesses = new ArrayList<SignedWitness>();
    for (byte[] each : in.allBytes(name)) {
      try {
        witnesses.add(WitnessVerifier.decode(each));
      } catch (WitnessException e) {
        throw new WireException(String.valueOf(e.getMessage()));
      }
    }
    return witnesses;
  }

  public static String base64(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private static <V> ArrayNode array(List<V> all, Function<V, JsonNode> node) {
    ArrayNode array = NODES.arrayNode(all.size());
    all.forEach(each -> array.add(node.apply(each)));
    return array;
  }
}
