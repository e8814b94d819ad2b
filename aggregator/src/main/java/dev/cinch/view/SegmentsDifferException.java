package dev.cinch.view;

import dev.cinch.bag.model.Name;
import java.io.IOException;

/**
 * A published segment does not hold what the same records give here. One of the two machines reads
 * or computes wrongly; nothing may be retired until it is known which. The message is one line for
 * the user.
 */
public class SegmentsDifferException extends IOException {
  private static final long serialVersionUID = 1;

  SegmentsDifferException(Name segment, String published, String computed) {
    super(
        "%s differs from what the same records give here: published %s, computed %s; retire nothing, and verify the buckets and this machine"
            .formatted(segment, published, computed));
  }
}
