package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.Name;
import dev.cinch.view.Retention.Plan;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.util.List;

/**
 * Something that is retired cannot be removed by this user. Everything else was removed; a later
 * run, by who may, removes the rest. The message tells of the first thing, {@link #kept()} of more.
 */
@CheckReturnValue
public class RetireBlockedException extends IOException {
  private static final long serialVersionUID = 1;

  private final transient List<Kept> kept;
  private final transient long others;
  private final transient Plan done;

  /**
   * What stays.
   *
   * @param at the directory that keeps it, or what is in the way there
   * @param owner of that, as a number
   * @param why it stays; a {@link ForeignEntryException} if it is not ours (rule N7)
   */
  public record Kept(Name at, int owner, IOException why) {
    /** Whether its owner, or a superuser, could remove it. */
    public boolean isDenied() {
      return why instanceof AccessDeniedException
          || why instanceof FileSystemException e
              && "Operation not permitted".equals(e.getReason());
    }

    /** What stays and why, without a remedy for what is denied. */
    public String line() {
      return why instanceof ForeignEntryException foreign
          ? foreign.getMessage()
          : at + ": cannot retire what is in it: " + InWords.reason(why);
    }

    private String remedy() {
      return isDenied()
          ? "; it belongs to user " + owner + ", run gc as that user or as root"
          : "; all else was retired";
    }
  }

  /**
   * @param kept not empty; the first ones
   * @param others how many more entries stay
   */
  RetireBlockedException(List<Kept> kept, long others, Plan done) {
    super(
        kept.get(0).line()
            + kept.get(0).remedy()
            + (kept.size() + others == 1 ? "" : " (and " + (kept.size() - 1 + others) + " more)"),
        kept.get(0).why());
    this.kept = List.copyOf(kept);
    this.others = others;
    this.done = done;
  }

  /** The first ones, at most {@link Obstacles#MOST}; not empty. */
  public List<Kept> kept() {
    return kept;
  }

  /** How many more entries stay. */
  public long others() {
    return others;
  }

  /** What went all the same. */
  public Plan done() {
    return done;
  }
}
