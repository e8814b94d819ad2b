package dev.cinch.lease;

/**
 * The end of a lease at one instance, which only one instance brings about: that one, to grant the
 * name on, or a later one, to resume the lease (rule L11).
 *
 * @param correlation of the lease
 * @param instance the number of the instance that signed for it
 */
public record LeaseEnd(Id correlation, long instance) {}
