package dev.cinch.bag.write;

/** A message was refused before anything was written. The message is one line for the user. */
public class MessageRefusedException extends Exception {
  private static final long serialVersionUID = 1;

  public MessageRefusedException(String message) {
    super(message);
  }
}
