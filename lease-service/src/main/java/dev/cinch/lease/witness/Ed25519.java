package dev.cinch.lease.witness;

/**
 * A library that signs and checks with Ed25519 (RFC 8032). All give the same signatures and the
 * same verdicts, on crafted input too: readers of a store must agree. Thread-safe.
 */
interface Ed25519 {
  /** One private key, ready to sign. Thread-safe. */
  interface Signer {
    /** The 64 bytes of the signature of these parts, as one. */
    byte[] sign(byte[]... parts);
  }

  /** One public key, ready to check. Thread-safe. */
  interface Checker {
    /** Whether 64 bytes are this key's signature of these parts, as one. */
    boolean isGood(byte[] signature, byte[]... parts);
  }

  /** For a seed of 32 bytes. The signer keeps what it works out of it, and not the array. */
  Signer signer(byte[] seed);

  /** For any 32 bytes; one that refuses everything if they are no key. */
  Checker checker(byte[] publicKey);

  /** What it is called, for an operator. */
  String title();
}
