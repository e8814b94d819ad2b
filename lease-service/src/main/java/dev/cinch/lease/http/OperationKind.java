package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Operation;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The kinds of operations: as a path's last part, as the name of a batch's entry, and as a body.
 */
enum OperationKind {
  ACQUIRE,
  RENEW,
  RESUME,
  UPGRADE,
  RELEASE;

  /** As paths and batches call it. */
  final String wireName = name().toLowerCase(Locale.ROOT);

  private static final List<OperationKind> ALL = List.of(values());

  static Optional<OperationKind> of(String wireName) {
    for (OperationKind kind : ALL) {
      if (kind.wireName.equals(wireName)) {
        return Optional.of(kind);
      }
    }
    return Optional.empty();
  }

  static OperationKind of(Operation operation) {
    if (operation instanceof Operation.Acquire) {
      return ACQUIRE;
    } else if (operation instanceof Operation.Renew) {
      return RENEW;
    } else if (operation instanceof Operation.Resume) {
      return RESUME;
    } else if (operation instanceof Operation.Upgrade) {
      return UPGRADE;
    }
    return RELEASE;
  }

  /** Whether leases may be lost without it. */
  boolean keeps() {
    return this != ACQUIRE;
  }

  Operation read(Fields body) throws WireException {
    return switch (this) {
      case ACQUIRE -> WireReader.acquire(body);
      case RENEW -> WireReader.renew(body);
      case RESUME -> WireReader.resume(body);
      case UPGRADE -> WireReader.upgrade(body);
      case RELEASE -> WireReader.release(body);
    };
  }

  static ObjectNode write(Operation operation, Wire wire) {
    if (operation instanceof Operation.Acquire acquire) {
      return WireWriter.acquire(acquire.request(), wire);
    } else if (operation instanceof Operation.Renew renew) {
      return WireWriter.renew(renew, wire);
    } else if (operation instanceof Operation.Resume resume) {
      return WireWriter.resume(resume.request(), wire);
    } else if (operation instanceof Operation.Upgrade upgrade) {
      return WireWriter.upgrade(upgrade, wire);
    } else if (operation instanceof Operation.Release release) {
      return WireWriter.release(release, wire);
    }
    throw new AssertionError(operation);
  }
}
