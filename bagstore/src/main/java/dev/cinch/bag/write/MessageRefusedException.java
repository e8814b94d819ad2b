package dev.cinch.bag.write;

/** A message was refused before anything was written. The message is one line for the user. */
public class MessageRefusedException extends Exception {
  private static final long serialVersionUID = 1;

  private final boolean forGood;

  public MessageRefusedException(String message) {
    this(message, false);
  }

  /**
   * @param forGood whether it would be refused again, whatever happens to the leases
   */
  public MessageRefusedException(String message, boolean forGood) {
    super(message);
    this.forGood = forGood;
  }

  /** Whether this writer would refuse it again, whatever happens to the leases meanwhile. */
  public boolean isForGood() {
    return forGood;
  }
}
