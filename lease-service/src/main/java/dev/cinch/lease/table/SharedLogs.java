package dev.cinch.lease.table;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LogSet;

/** Sets of logs that many leases have in common, and which are not written out with each. */
@CheckReturnValue
public interface SharedLogs {
  /** There are none. */
  SharedLogs NONE =
      new SharedLogs() {
        @Override
        public int numberOf(LogSet logs) {
          return -1;
        }

        @Override
        public LogSet at(int number) {
          throw new IllegalArgumentException("no set of logs has number " + number);
        }
      };

  /** The number of a set that is neither empty nor all logs, from 2; -1 if it has none. */
  int numberOf(LogSet logs);

  /** The set of a number that {@link #numberOf} gave. */
  LogSet at(int number);
}
