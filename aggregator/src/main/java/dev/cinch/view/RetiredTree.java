package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ChainPlace;
import dev.cinch.bag.fs.ForeignEntryException;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.Numbered;
import dev.cinch.bag.layout.SealName;
import dev.cinch.bag.layout.TimeName;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/**
 * Walks what a checkpoint retires and what still stands: bucket directories that end at or before
 * it, records below it. That includes what late writers and closers made again. One directory's
 * names are held at a time. Thread-safe.
 */
@CheckReturnValue
final class RetiredTree {
  private final LogContext log;

  RetiredTree(LogContext log) {
    this.log = log;
  }

  /** Told of everything found, children before the directories that hold them. */
  interface Visitor {
    void bucket(Path directory) throws IOException;

    void record(Path file) throws IOException;

    /** Of a record that is retired, told before that record. */
    void seal(Path file) throws IOException;

    /** What stands in the place of a directory, and is none; it is not entered (rule N7). */
    void foreign(ForeignEntryException e) throws IOException;

    /** A directory all of whose range is retired, and that is empty unless somebody is late. */
    void parent(Path directory) throws IOException;
  }

  void walk(ChainPlace line, Visitor visitor) throws IOException {
    walkBuckets(line.to(), visitor);
    walkRecords(line.number(), visitor);
  }

  private void walkBuckets(long to, Visitor visitor) throws IOException {
    long width = log.bucketWidth();
    long groupWidth = LogLayout.groupWidth(width);
    long eraWidth = LogLayout.eraWidth(width);
    Path buckets = log.layout().buckets();
    for (long era : starts(buckets, to, eraWidth, visitor)) {
      Path eraPath = buckets.resolve(TimeName.of(era));
      for (long group : starts(eraPath, to, groupWidth, visitor)) {
        Path groupPath = eraPath.resolve(TimeName.of(group));
        for (long start : starts(groupPath, to, width, visitor)) {
          if (start + width <= to) {
            visitor.bucket(log.layout().bucket(new Bucket(start, width)));
          }
        }
        if (group + groupWidth <= to) {
          visitor.parent(groupPath);
        }
      }
      if (era + eraWidth <= to) {
        visitor.parent(eraPath);
      }
    }
  }

  private List<Long> starts(Path directory, long to, long width, Visitor visitor)
      throws IOException {
    return LogLayout.starts(directory, names(directory, visitor), Long.MIN_VALUE, to, width);
  }

  /** Another gc may have removed a directory since its parent was listed. */
  private List<String> names(Path directory, Visitor visitor) throws IOException {
    try {
      return log.store().fs().list(directory);
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (ForeignEntryException e) {
      visitor.foreign(e);
      return List.of();
    }
  }

  private void walkRecords(long number, Visitor visitor) throws IOException {
    long stays = LogLayout.groupOfRecord(number);
    List<Long> groups =
        names(log.layout().records(), visitor).stream()
            .filter(name -> name.matches("\\d{7}"))
            .map(Long::valueOf)
            .filter(group -> group <= stays)
            .sorted()
            .toList();
    for (long group : groups) {
      Path directory = log.layout().recordGroup(group);
      List<String> names = names(directory, visitor);
      for (String name : names) {
        // Before any record goes: one that outlived it would say that the record is missing.
        if (SealName.parse(name).filter(seal -> seal.number() < number).isPresent()) {
          visitor.seal(directory.resolve(name));
        }
      }
      for (String name : names) {
        OptionalLong parsed = Numbered.parse(name);
        boolean retired =
            parsed.isPresent()
                ? parsed.getAsLong() < number
                : group < stays && (LogLayout.isTemporary(name) || LogLayout.isHeldOpen(name));
        if (retired) {
          visitor.record(directory.resolve(name));
        }
      }
      if (group < stays) {
        visitor.parent(directory);
      }
    }
  }
}
