package dev.cinch.sql;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigInteger;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which times a statement can want of a table: what the filters right above its scan say in the
 * plan that DuckDB made. DuckDB has folded constants and moved filters down by then, and applies
 * them once more to what it gets. So what is not understood here costs time, and nothing else.
 *
 * @param from nanoseconds since the Unix epoch
 * @param to no message from this time on is wanted
 */
record TimeBounds(long from, long to) {
  static final TimeBounds ALL = new TimeBounds(Long.MIN_VALUE, Long.MAX_VALUE);

  /** How the plan prints the column {@code time}; {@link LogTable#view} defines it so. */
  private static final String TIME = Pattern.quote("make_timestamptz((time_ns // 1000))");

  private static final String MOMENT = "'([^']+)'::TIMESTAMP WITH TIME ZONE";
  private static final String NUMBER = "(-?\\d+)";
  private static final String OPERATOR = " (=|<|>|<=|>=) ";
  private static final Pattern TIME_COMPARED = Pattern.compile(TIME + OPERATOR + MOMENT);
  private static final Pattern NANOS_COMPARED = Pattern.compile("time_ns" + OPERATOR + NUMBER);
  private static final Pattern TIME_BETWEEN =
      Pattern.compile(TIME + " BETWEEN " + MOMENT + " AND " + MOMENT);
  private static final Pattern NANOS_BETWEEN =
      Pattern.compile("time_ns BETWEEN " + NUMBER + " AND " + NUMBER);

  private static final DateTimeFormatter FORMAT =
      new DateTimeFormatterBuilder()
          .appendPattern("uuuu-MM-dd HH:mm:ss")
          .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
          .appendLiteral("+00")
          .toFormatter(Locale.ROOT);

  private static final BigInteger MICRO = BigInteger.valueOf(1000);
  private static final BigInteger ONE = BigInteger.ONE;

  /**
   * The bounds of each scan of a plan.
   *
   * @param plan as {@code EXPLAIN (FORMAT json)} gives it
   * @return by the function that is scanned, in capital letters; of one that is scanned more than
   *     once what any of them wants
   */
  static Map<String, TimeBounds> of(JsonNode plan) {
    var found = new HashMap<String, TimeBounds>();
    for (JsonNode root : plan) {
      walk(root, ALL, found);
    }
    return found;
  }

  private static void walk(JsonNode node, TimeBounds above, Map<String, TimeBounds> found) {
    JsonNode info = node.path("extra_info");
    TimeBounds here = ALL;
    if (node.path("name").asText().equals("FILTER")) {
      here = above.and(info.path("Expression"));
    } else if (info.has("Function")) {
      found.merge(info.get("Function").asText().toUpperCase(Locale.ROOT), above, TimeBounds::or);
    }
    for (JsonNode child : node.path("children")) {
      walk(child, here, found);
    }
  }

  private TimeBounds and(JsonNode expressions) {
    TimeBounds bounds = this;
    for (JsonNode one : expressions.isArray() ? expressions : List.of(expressions)) {
      bounds = bounds.and(one.asText());
    }
    return bounds;
  }

  /** What also an expression says, as the plan prints it: with parentheses around each operator. */
  private TimeBounds and(String expression) {
    String bare = bare(expression);
    Matcher m = TIME_COMPARED.matcher(bare);
    if (m.matches()) {
      return compared(m.group(1), micros(m.group(2)), MICRO);
    }
    m = TIME_BETWEEN.matcher(bare);
    if (m.matches()) {
      return compared(">=", micros(m.group(1)), MICRO).compared("<=", micros(m.group(2)), MICRO);
    }
    m = NANOS_COMPARED.matcher(bare);
    if (m.matches()) {
      return compared(m.group(1), new BigInteger(m.group(2)), ONE);
    }
    m = NANOS_BETWEEN.matcher(bare);
    if (m.matches()) {
      return compared(">=", new BigInteger(m.group(1)), ONE)
          .compared("<=", new BigInteger(m.group(2)), ONE);
    }
    List<String> parts = conjuncts(bare);
    TimeBounds bounds = this;
    for (String part : parts.size() == 1 ? List.<String>of() : parts) {
      bounds = bounds.and(part);
    }
    return bounds;
  }

  /**
   * What also a comparison says.
   *
   * @param than the other side, in units; null: it is not known
   */
  private TimeBounds compared(String operator, @Nullable BigInteger than, BigInteger unit) {
    if (than == null) {
      return this;
    }
    long first = nanos(than.multiply(unit));
    long behind = nanos(than.add(ONE).multiply(unit));
    return switch (operator) {
      case "=" -> within(first, behind);
      case ">", ">=" -> within(first, Long.MAX_VALUE);
      case "<=" -> within(Long.MIN_VALUE, behind);
      default -> within(Long.MIN_VALUE, first);
    };
  }

  private TimeBounds within(long first, long behind) {
    return new TimeBounds(Math.max(from, first), Math.min(to, behind));
  }

  private TimeBounds or(TimeBounds other) {
    return new TimeBounds(Math.min(from, other.from), Math.max(to, other.to));
  }

  private static @Nullable BigInteger micros(String text) {
    try {
      LocalDateTime time = LocalDateTime.parse(text, FORMAT);
      return BigInteger.valueOf(time.toEpochSecond(ZoneOffset.UTC))
          .multiply(BigInteger.valueOf(1_000_000))
          .add(BigInteger.valueOf(time.getNano() / 1000));
    } catch (DateTimeParseException e) {
      return null; // infinity, or a year of five digits
    }
  }

  private static long nanos(BigInteger exact) {
    return exact
        .max(BigInteger.valueOf(Long.MIN_VALUE))
        .min(BigInteger.valueOf(Long.MAX_VALUE))
        .longValueExact();
  }

  /** Without the parentheses around all of it. */
  private static String bare(String expression) {
    String bare = expression.strip();
    while (bare.startsWith("(") && end(bare, 0) == bare.length()) {
      bare = bare.substring(1, bare.length() - 1).strip();
    }
    return bare;
  }

  /** What is joined by AND, outside of parentheses and quotes; all of it if there is an OR. */
  private static List<String> conjuncts(String bare) {
    var parts = new ArrayList<String>();
    int begun = 0;
    for (int i = 0; i < bare.length(); i = end(bare, i)) {
      if (bare.startsWith(" OR ", i) || bare.startsWith(" BETWEEN ", i)) {
        return List.of(bare);
      }
      if (bare.startsWith(" AND ", i)) {
        parts.add(bare.substring(begun, i));
        begun = i + " AND ".length();
      }
    }
    parts.add(bare.substring(begun));
    return parts;
  }

  /** The end of what begins somewhere: of a group, of what is quoted, or of a single character. */
  private static int end(String text, int begin) {
    int depth = 0;
    char quote = 0;
    for (int i = begin; i < text.length(); i++) {
      char c = text.charAt(i);
      if (quote != 0) {
        quote = c == quote ? 0 : quote;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(') {
        depth++;
      } else if (c == ')') {
        depth--;
      }
      if (quote == 0 && depth <= 0) {
        return i + 1;
      }
    }
    return text.length();
  }
}
