package dev.cinch.lease.access;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Operation;
import dev.cinch.lease.access.Permission.Right;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One that asks, and what it may. Immutable and thread-safe.
 *
 * @param who for logs and messages, without a secret: like {@code token 1f2e3d4c (ci)}
 * @param from its address; an object whose text that is, null if it is not known
 * @param named whether it is known by a token or a certificate, which {@code who} names
 */
@CheckReturnValue
public record Caller(
    String who, @Nullable Object from, List<Permission> permissions, boolean named) {
  public Caller {
    permissions = List.copyOf(permissions);
  }

  /** One that is known by nothing. */
  public Caller(String who, @Nullable Object from, List<Permission> permissions) {
    this(who, from, permissions, false);
  }

  /** Whether it may see the leases of all names that begin so. */
  public boolean maySee(String beginning) {
    return Permission.allow(permissions, Right.OBSERVE, beginning);
  }

  /**
   * Why it may not do something; empty if it may.
   *
   * @param beginning of all names concerned; a whole one, or a prefix
   */
  public Optional<LeaseRefusedException> refusal(Right right, String beginning) {
    if (Permission.allow(permissions, right, beginning)) {
      return Optional.empty();
    }
    return refused("the right " + new Permission(right, beginning));
  }

  /** Why it may not have an operation carried out; empty if it may. */
  public Optional<LeaseRefusedException> refusal(Operation operation) {
    if (operation instanceof Operation.Acquire acquire) {
      return onAll(acquire.names());
    } else if (operation instanceof Operation.Resume resume) {
      return onAll(resume.witnesses().stream().map(w -> w.witness().name()).toList());
    } else if (operation instanceof Operation.Revoke revoke) {
      return refusal(Right.REVOKE, revoke.name().value());
    }
    // Which leases it is about knows what keeps the grants, which asks by the scope.
    boolean any =
        permissions.stream().anyMatch(p -> p.right() == Right.ACQUIRE || p.right() == Right.ADMIN);
    return any ? Optional.empty() : refused("the right " + Right.ACQUIRE);
  }

  /** Of which leases it may ask for operations that do not say their names. */
  public Operation.Scope scope() {
    if (Permission.allow(permissions, Right.ACQUIRE, "")) {
      return Operation.Scope.ALL;
    }
    return names -> {
      Optional<LeaseRefusedException> refusal = onAll(names);
      if (refusal.isPresent()) {
        throw refusal.get();
      }
    };
  }

  private Optional<LeaseRefusedException> onAll(List<LeaseName> names) {
    for (LeaseName name : names) {
      Optional<LeaseRefusedException> refusal = refusal(Right.ACQUIRE, name.value());
      if (refusal.isPresent()) {
        return refusal;
      }
    }
    return Optional.empty();
  }

  private Optional<LeaseRefusedException> refused(String what) {
    String has = permissions.isEmpty() ? "" : ", which has " + join();
    return Optional.of(
        new LeaseRefusedException(
            Reason.FORBIDDEN, "this needs " + what + "; it was sent by " + this + has, 0));
  }

  /** Who it is, and from where. */
  @Override
  public String toString() {
    return from == null ? who : who + " at " + from;
  }

  private String join() {
    return String.join(", ", permissions.stream().map(Permission::toString).toList());
  }
}
