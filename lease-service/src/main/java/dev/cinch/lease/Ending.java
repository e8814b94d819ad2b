package dev.cinch.lease;

/** How the lease before this one, of the same name, ended. */
public enum Ending {
  /** There was none: this service instance is the store's first and has never seen the name. */
  NONE(0),
  /** Its holder released it, stating a watermark. */
  RELEASED(1),
  /** It expired, or was revoked; its holder may not know yet, so it must be fenced. */
  BROKEN(2),
  /** It was forgotten, or belongs to an earlier service instance; treated as {@link #BROKEN}. */
  UNKNOWN(3);

  private final int code;

  Ending(int code) {
    this.code = code;
  }

  /** The byte that stands for it in a witness. */
  public int code() {
    return code;
  }

  /**
   * @throws IllegalArgumentException for a byte that stands for none
   */
  public static Ending ofCode(int code) {
    for (Ending e : values()) {
      if (e.code == code) {
        return e;
      }
    }
    throw new IllegalArgumentException("no ending has code " + code);
  }
}
