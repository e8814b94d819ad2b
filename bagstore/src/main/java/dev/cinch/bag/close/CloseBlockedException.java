package dev.cinch.bag.close;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A bucket cannot be closed by this user: names the file and the remedy (rule C6). */
public class CloseBlockedException extends IOException {
  private static final long serialVersionUID = 1;

  CloseBlockedException(String path, String problem, @Nullable Throwable cause) {
    super(
        path
            + ": "
            + problem
            + "; give the store's group read and write access to it (chgrp, chmod g+rw), or close as its owner",
        cause);
  }
}
