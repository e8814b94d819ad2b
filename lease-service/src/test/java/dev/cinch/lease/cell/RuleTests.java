package dev.cinch.lease.cell;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Runs the tests of rules without JUnit: for rules that are broken on purpose. */
public final class RuleTests {
  private RuleTests() {}

  /**
   * The names of the tests that fail; null if none does.
   *
   * @param test the class, in a package below that of leases
   */
  public static @Nullable String failure(String test) throws ReflectiveOperationException {
    Class<?> type = Class.forName("dev.cinch.lease." + test);
    Constructor<?> constructor = type.getDeclaredConstructor();
    constructor.setAccessible(true);
    var failed = new StringJoiner(", ");
    var methods = new ArrayList<Method>(List.of(type.getDeclaredMethods()));
    methods.addAll(List.of(type.getSuperclass().getDeclaredMethods()));
    for (Method method : methods) {
      if (method.isAnnotationPresent(Test.class)) {
        method.setAccessible(true);
        try {
          method.invoke(constructor.newInstance());
        } catch (InvocationTargetException e) {
          failed.add(method.getName());
        }
      }
    }
    return failed.length() == 0 ? null : failed.toString();
  }
}
