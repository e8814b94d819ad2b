package dev.cinch.bag.storage;

/** How things look that may be cached. */
public enum Freshness {
  /** As far as this machine knows: up to a minute old. */
  CACHED,
  /** As fresh as this user may ask. */
  PERMITTED,
  /** Past every cache. */
  CERTAIN
}
