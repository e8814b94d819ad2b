package dev.cinch.backup;

import java.io.IOException;

/** A directory is not to be changed by a backup of this store; the message says why. */
public final class BackupRefusedException extends IOException {
  private static final long serialVersionUID = 1;

  BackupRefusedException(String message) {
    super(message);
  }
}
