package dev.cinch.lease;

/**
 * Where a holder's recent messages stand (rule L7); a hint for readers, never needed for an answer.
 *
 * @param log the log written to
 * @param bucketStart start of the bucket, nanoseconds since the Unix epoch
 * @param dataFile the data file's name, at most 255 characters
 */
public record Metadata(Id log, long bucketStart, String dataFile) {}
