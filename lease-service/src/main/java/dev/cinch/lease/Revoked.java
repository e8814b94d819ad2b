package dev.cinch.lease;

/**
 * The answer to a revoke request.
 *
 * @param revocation as the store keeps it
 * @param expiry until when the holder may still write, unless it gives the lease back; then the
 *     name is granted again. Nanoseconds since the Unix epoch
 */
public record Revoked(Revocation revocation, long expiry) {}
