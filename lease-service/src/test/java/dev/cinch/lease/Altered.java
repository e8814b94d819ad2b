package dev.cinch.lease;

import dev.cinch.lease.time.TimeBounds;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Optional;

/** Values that differ from others in what a test is about. Stateless. */
public final class Altered {
  private Altered() {}

  /** A lease that nobody had before, of the first instance, for all logs. */
  public static Witness first(
      String name, String holder, Id correlation, long issuedAt, long expiry) {
    return new Witness(
        new LeaseName(name),
        holder,
        1,
        1,
        false,
        LogSet.ALL,
        expiry,
        issuedAt,
        correlation,
        Optional.empty(),
        Ending.NONE,
        Long.MIN_VALUE,
        Watermark.NONE,
        Fence.NONE,
        false,
        TimeBounds.ASSUMED.at(issuedAt, 0));
  }

  /**
   * The same with other components.
   *
   * @param changes names of components, each followed by its value
   */
  public static <R extends Record> R with(R record, Object... changes) {
    var changed = new HashMap<Object, Object>();
    for (int i = 0; i < changes.length; i += 2) {
      changed.put(changes[i], changes[i + 1]);
    }
    RecordComponent[] all = record.getClass().getRecordComponents();
    var values = new Object[all.length];
    try {
      for (int i = 0; i < all.length; i++) {
        Object other = changed.remove(all[i].getName());
        values[i] = other == null ? all[i].getAccessor().invoke(record) : other;
        if (all[i].getType() == long.class && other instanceof Integer number) {
          values[i] = number.longValue();
        }
      }
      if (!changed.isEmpty()) {
        throw new IllegalArgumentException(record.getClass() + " has no " + changed.keySet());
      }
      Class<?>[] types = Arrays.stream(all).map(RecordComponent::getType).toArray(Class<?>[]::new);
      @SuppressWarnings("unchecked") // of the same class
      R altered = (R) record.getClass().getDeclaredConstructor(types).newInstance(values);
      return altered;
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException refusal) {
        throw refusal;
      }
      throw new AssertionError(e);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * Issued with a bound of a second, and with a watermark that was told at the time of issue.
   *
   * @param aheadNanos how far that is ahead of the latest that it could be then, nanoseconds
   */
  public static Witness ahead(Witness w, long aheadNanos) {
    var bound = TimeBound.around(w.issuedAt(), 1_000_000_000L, TimeBound.Kind.ASSUMED);
    long latest = bound.latest();
    var watermark = new Watermark(latest + aheadNanos, w.issuedAt(), latest);
    return with(w, "watermark", watermark, "time", bound);
  }
}
