package dev.cinch.lease.time.roughtime;

import java.util.Arrays;

/** Versions of the protocol that we speak; all have the same bytes. */
final class Versions {
  /** Roughtime version 1, RFC 10049. */
  static final int ONE = 1;

  /** What implementations of drafts 12 to 19 say; ours has the messages of 14 to 19. */
  static final int DRAFT = 0x8000000c;

  /** As they stand in requests and responses: ascending as unsigned numbers. */
  private static final int[] OURS = {ONE, DRAFT};

  /** How many a list may have. */
  static final int MAX = 32;

  private Versions() {}

  static int[] ours() {
    return OURS.clone();
  }

  static boolean isOurs(int version) {
    return Arrays.stream(OURS).anyMatch(v -> v == version);
  }
}
