package dev.cinch.cli.base;

import dev.cinch.backup.BackupRefusedException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.NothingSettledException;
import dev.cinch.bag.SessionRefusedException;
import dev.cinch.bag.StoreExistsException;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.store.ClockException;
import dev.cinch.bag.store.KeyRefusedException;
import dev.cinch.bag.write.FateUnknownException;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.view.RetireBlockedException;
import dev.cinch.view.SegmentsDifferException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

/**
 * What a throwable means to whoever ran the command: an exit code and one line.
 *
 * @param code one of {@link ExitCode}
 * @param line without control characters; empty if nothing is to be said
 */
public record Failure(int code, String line) {
  private static final int MAX_LINE = 600;

  /** A refusal of the command line's own. */
  public static final class Refusal extends IOException {
    private static final long serialVersionUID = 1;

    public Refusal(String message) {
      super(message);
    }
  }

  public static Failure of(Throwable t) {
    if (t instanceof Output.ClosedException e) {
      return new Failure(e.code(), e.code() == ExitCode.GOOD ? "" : oneLine(message(e)));
    }
    return new Failure(code(t), oneLine(text(t)));
  }

  private static int code(Throwable t) {
    if (t instanceof DamagedException
        || t instanceof FateUnknownException
        || (t instanceof IOException && t.getCause() instanceof FateUnknownException)
        || t instanceof SegmentsDifferException
        || (t instanceof RetireBlockedException && t.getCause() instanceof DamagedException)) {
      return ExitCode.DAMAGE;
    }
    if (t instanceof Misuse) {
      return ExitCode.USAGE;
    }
    if (t instanceof StoreExistsException
        || t instanceof TooEarlyException
        || t instanceof OpinionNeededException
        || t instanceof ClockException
        || t instanceof SessionRefusedException
        || t instanceof NothingSettledException
        || t instanceof MessageRefusedException
        || t instanceof LeaseRefusedException
        || (t.getCause() instanceof LeaseRefusedException refused
            && refused.reason() == LeaseRefusedException.Reason.FORBIDDEN)
        || t instanceof KeyRefusedException
        || t instanceof BackupRefusedException
        || t instanceof Refusal) {
      return ExitCode.REFUSED;
    }
    return ExitCode.UNAVAILABLE;
  }

  private static String text(Throwable t) {
    if (t instanceof NotAStoreException
        || t instanceof LeaseUnavailableException
        || code(t) != ExitCode.UNAVAILABLE) {
      return message(t);
    }
    if (t instanceof InterruptedException) {
      return "interrupted";
    }
    if (t instanceof AccessDeniedException e) {
      return denied(e);
    }
    if (t instanceof IOException e) {
      return InWords.line(e);
    }
    if (t instanceof OutOfMemoryError) {
      return "out of memory; give it more with CINCH_JAVA_OPTS=-Xmx…";
    }
    return "unexpected " + t + " (a fault of this program; run with --debug and report it)";
  }

  /**
   * Where this user may not do something, and whoever may. A file that can't be made says nothing;
   * its directory does.
   */
  private static String denied(AccessDeniedException e) {
    if (e.getFile() == null) {
      return InWords.line(e);
    }
    Path file = Path.of(e.getFile());
    Path name = file.getFileName();
    Path directory = file.getParent();
    if (name == null
        || directory == null
        || !Name.isTemporary(name.toString()) && !isToBeMade(file, directory)) {
      return InWords.line(e) + attributes(file).map(a -> "; it is " + owner(a)).orElse("");
    }
    return directory
        + ": permission denied: this user may not make files there"
        + whoMay(directory);
  }

  /** What gc leaves, in one line: where, why, whose it is, and the remedy. */
  public static String line(RetireBlockedException.Kept kept) {
    Optional<PosixFileAttributes> there =
        kept.isDenied() ? attributes(kept.at().path()) : Optional.empty();
    return kept.line()
        + there.map(a -> "; it is " + owner(a) + ": run gc as " + remover(a)).orElse("");
  }

  /** Was it denied to make it? Else the file itself denies something. */
  private static boolean isToBeMade(Path file, Path directory) {
    return Files.notExists(file, LinkOption.NOFOLLOW_LINKS) && !Files.isWritable(directory);
  }

  private static String whoMay(Path directory) {
    return attributes(directory)
        .map(
            a ->
                a.permissions().contains(PosixFilePermission.GROUP_WRITE)
                    ? "; group %s may: be added to it and log in anew"
                        .formatted(a.group().getName())
                    : "; it is " + owner(a))
        .orElse("");
  }

  private static Optional<PosixFileAttributes> attributes(Path path) {
    try {
      return Optional.of(
          Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS));
    } catch (IOException | UnsupportedOperationException e) {
      return Optional.empty();
    }
  }

  private static String owner(PosixFileAttributes a) {
    return "%s's, of group %s and mode %s"
        .formatted(
            a.owner().getName(),
            a.group().getName(),
            PosixFilePermissions.toString(a.permissions()));
  }

  private static String remover(PosixFileAttributes a) {
    String owner = a.owner().getName();
    return owner.equals("root") ? owner : owner + " or as root";
  }

  private static String message(Throwable t) {
    String message = t.getMessage();
    return message == null || message.isBlank() ? "it failed and does not say why" : message;
  }

  /** One line, whatever it was made of. */
  public static String oneLine(String text) {
    return OneLine.of(text.strip().replaceAll("\\s*\\R\\s*", "; "), MAX_LINE);
  }
}
