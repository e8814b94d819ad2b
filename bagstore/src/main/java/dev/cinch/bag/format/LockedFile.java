package dev.cinch.bag.format;

import dev.cinch.bag.model.DataFileName;

/**
 * What a lock says of one data file (section 3, step 4).
 *
 * @param name the file
 * @param validLength bytes that exist; what lies past them does not, for any reader, ever (rule
 *     C2); 0 if the file has no valid batch
 * @param messages in those bytes
 * @param first timestamp of the first message; 0 if there is none
 * @param last timestamp of the last message; 0 if there is none
 * @param digest running digest at the valid length; 0 if there is none
 * @param copy the last bytes before the valid length, which nothing proves to be durable in the
 *     file (rule C3)
 */
@SuppressWarnings(
    "ArrayRecordComponent") // never shared outside this module's readers, which do not write to it
public record LockedFile(
    DataFileName name,
    long validLength,
    long messages,
    long first,
    long last,
    int digest,
    byte[] copy) {
  /** Names, white space and numbers of up to 20 digits. */
  private static final int ENTRY_BYTES = 220;

  /** Whether a batch that ends at this offset of the file exists. */
  public boolean covers(long end) {
    return validLength >= end;
  }

  /** Whether it does not contradict itself; what a closer writes never does. */
  boolean isPossible() {
    if (copy.length > Frame.ONE_STEP_LIMIT) {
      return false; // no more is written in the last step
    }
    return validLength == 0
        ? messages == 0 && first == 0 && last == 0 && digest == 0
        : FrameCodec.isPossible(messages, validLength) && first <= last;
  }

  /** The same without a copy: all of the file is known to be durable. */
  public LockedFile withoutCopy() {
    return new LockedFile(name, validLength, messages, first, last, digest, new byte[0]);
  }

  /** What it takes in a lock, or a little less: all numbers are as long as they get. */
  public int encodedBytes() {
    return ENTRY_BYTES + name.toString().length() + (copy.length + 2) / 3 * 4;
  }

  /** Where the copy begins in the file. */
  public long copyOffset() {
    return validLength - copy.length;
  }
}
