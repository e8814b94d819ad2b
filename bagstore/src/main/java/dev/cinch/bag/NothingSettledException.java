package dev.cinch.bag;

import java.io.IOException;

/** A cut was asked for, and there is a log of which nothing is settled yet; none was taken. */
public final class NothingSettledException extends IOException {
  private static final long serialVersionUID = 1;

  NothingSettledException(String message) {
    super(message);
  }
}
