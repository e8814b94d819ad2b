package dev.cinch.lease;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Stands before a service or a registry: a test sees each call first, and may answer it itself. */
public final class Between {
  private Between() {}

  /** What answers a call. */
  public interface Answer {
    @Nullable Object to(Call call) throws Throwable;
  }

  /** One call of a method. */
  public record Call(Object proxy, Method method, Object[] args) {
    public boolean is(String name) {
      return method.getName().equals(name);
    }

    /** Whether operations are to be carried out of which the first is of this kind. */
    public boolean carriesOut(Class<? extends Operation> kind) {
      return is("carryOut") && ((List<?>) args[0]).stream().limit(1).anyMatch(kind::isInstance);
    }

    /** Has another one answer. */
    public @Nullable Object by(Object other) throws Throwable {
      try {
        return method.invoke(other, args);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }

  public static <T> T of(Class<T> type, Answer answer) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, args) -> answer.to(new Call(proxy, method, args))));
  }
}
