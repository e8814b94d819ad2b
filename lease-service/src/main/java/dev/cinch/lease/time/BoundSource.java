package dev.cinch.lease.time;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.TimeBound;
import java.io.IOException;

/** Somebody who knows the time and how far off that may be. Asked by one thread at a time. */
@CheckReturnValue
public interface BoundSource {
  /** What it is called in messages, without spaces. */
  String name();

  /**
   * Asks. Takes seconds at most.
   *
   * @throws IOException if there is no answer, or none that is good; one line
   */
  Measurement measure() throws IOException;

  /**
   * What a source said.
   *
   * @param bound between which times it was
   * @param monotonic when: the monotonic clock at that moment, nanoseconds
   * @param wall the machine's clock at that moment, nanoseconds since the Unix epoch
   */
  record Measurement(TimeBound bound, long monotonic, long wall) {}
}
