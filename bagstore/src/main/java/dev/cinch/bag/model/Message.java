package dev.cinch.bag.model;

import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;

/**
 * A message as a reader meets it. Valid until the reader goes on: the same object is used for the
 * next message, so that reading allocates nothing a message. Copy what you keep.
 */
public interface Message {
  /** Nanoseconds since the Unix epoch; first part of its place in the order. */
  long timestamp();

  /** Second part of its place in the order: bytewise by name. */
  DataFileName file();

  /** Third part: counted in the file from 0. */
  long position();

  /** Bytes of payload. */
  int length();

  /** A copy of the payload. */
  byte[] payload();

  /** Writes the payload. */
  void writeTo(OutputStream out) throws IOException;

  /** The signed witnesses that it was written under; empty if none. */
  List<SignedWitness> leases();

  /**
   * Whether all leases that it was written under permit it, as an audit asks (rule F3); true if it
   * names none. Where a store requires leases, no other message is delivered.
   */
  boolean permitted();

  /** Whether nothing can be added before it any more, nor it be lost. */
  boolean settled();
}
