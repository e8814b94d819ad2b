package dev.cinch.lease.history;

import dev.cinch.lease.Id;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One name as its callers may see it: free, or held by the grant of one request until it is
 * released, or at the earliest until the last expiry that was signed for it.
 */
final class LeaseModel implements Linearizability.Model<LeaseModel.Name, LeaseModel.Call> {
  enum Kind {
    ACQUIRE,
    RENEW,
    RESUME,
    RELEASE
  }

  enum Answer {
    GRANTED,
    RELEASED,
    HELD,
    NOT_HELD,
    UNKNOWN
  }

  /**
   * What a witness says of the name.
   *
   * @param correlation of the grant
   * @param instance that signed it
   * @param issuedAt signed time
   * @param expiry above which the name may be another's
   */
  record Signed(Id correlation, long instance, long issuedAt, long expiry) {}

  /**
   * A call about the name.
   *
   * @param id of the grant
   * @param signed where it was granted
   * @param latest no clock had shown more by the time of the answer
   */
  record Call(Kind kind, Id id, Answer answer, @Nullable Signed signed, long latest) {}

  /**
   * A state.
   *
   * @param holder null if it is free
   * @param signed the holder's last; null if no answer has shown one
   * @param instance the highest that has signed for the name
   * @param released grants that are over for good
   */
  record Name(@Nullable Id holder, @Nullable Signed signed, long instance, Set<Id> released) {
    static final Name FREE = new Name(null, null, 0, Set.of());

    private boolean isHeldBy(Id id) {
      return id.equals(holder);
    }

    private long expiry() {
      return signed == null ? Long.MIN_VALUE : signed.expiry;
    }

    private @Nullable Name held(Id by, Signed now) {
      return now.instance < instance ? null : new Name(by, now, now.instance, released);
    }

    private Name over(Id id) {
      var all = new HashSet<>(released);
      all.add(id);
      return isHeldBy(id)
          ? new Name(null, null, instance, Set.copyOf(all))
          : new Name(holder, signed, instance, Set.copyOf(all));
    }
  }

  @Override
  public @Nullable Name after(Name name, Call call) {
    Signed signed = call.signed;
    return switch (call.answer) {
      case GRANTED -> signed == null ? null : granted(name, call, signed);
      case RELEASED ->
          name.isHeldBy(call.id) || name.released.contains(call.id) ? name.over(call.id) : null;
      case HELD -> name.holder == null || name.isHeldBy(call.id) ? null : name;
      case NOT_HELD -> name.isHeldBy(call.id) && name.expiry() > call.latest ? null : name;
      case UNKNOWN -> unknown(name, call);
    };
  }

  private static @Nullable Name granted(Name name, Call call, Signed signed) {
    if (!name.isHeldBy(call.id)) {
      boolean mayBegin =
          call.kind == Kind.ACQUIRE
              && !name.released.contains(call.id)
              && name.expiry() <= signed.issuedAt;
      return mayBegin ? name.held(call.id, signed) : null;
    }
    Signed before = name.signed;
    if (before == null) {
      return name.held(call.id, signed);
    }
    boolean goesOn =
        before.correlation.equals(signed.correlation)
            // Only a later instance, whose clock may be another, may give less.
            && (before.expiry <= signed.expiry || before.instance < signed.instance);
    return goesOn ? name.held(call.id, signed) : null;
  }

  /** As if it had been carried out; the order without it is tried, too. */
  private static @Nullable Name unknown(Name name, Call call) {
    return switch (call.kind) {
      // How long it would be held then is not known: nothing follows from it but that it is.
      case ACQUIRE ->
          name.isHeldBy(call.id) || name.released.contains(call.id)
              ? null
              : new Name(call.id, null, name.instance, name.released);
      case RESUME ->
          name.isHeldBy(call.id) ? new Name(call.id, null, name.instance, name.released) : null;
      case RENEW -> null; // it only holds on to what is held
      // A holder whose expiry is not known hinders nobody: all that may follow its release may
      // follow without.
      case RELEASE -> name.isHeldBy(call.id) && name.signed != null ? name.over(call.id) : null;
    };
  }
}
