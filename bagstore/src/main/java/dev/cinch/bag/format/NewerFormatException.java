package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;
import java.io.IOException;

/**
 * A store of a format that came after this code. It is not damaged, and nothing was changed; only
 * {@code store.json} was read. The message is one line for the user.
 */
public class NewerFormatException extends IOException {
  private static final long serialVersionUID = 1;

  /**
   * @param path the file that says so
   * @param format the format that it names, above {@link StoreIdentity#FORMAT}
   */
  NewerFormatException(Name path, int format) {
    super(
        "%s: made by a newer Cinch: store format %d, this one knows %d; use the Cinch that made it, or a newer one"
            .formatted(path, format, StoreIdentity.FORMAT));
  }
}
