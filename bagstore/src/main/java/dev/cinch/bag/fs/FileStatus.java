package dev.cinch.bag.fs;

/**
 * Attributes of a file or directory.
 *
 * @param device of the filesystem, as this machine numbers it
 * @param inode with {@code device} the file's key; numbers are used again after a removal
 * @param size in bytes
 * @param changeTime {@code ctime}, nanoseconds since the Unix epoch, by the clock of whoever
 *     assigned it
 * @param mode the mode bits (07777)
 * @param uid numeric owner
 */
public record FileStatus(long device, long inode, long size, long changeTime, int mode, int uid) {
  /** The same but for the size. */
  FileStatus withSize(long other) {
    return new FileStatus(device, inode, other, changeTime, mode, uid);
  }

  /**
   * Whether both describe the same file, unchanged in between: same key and change time (section 2,
   * step 4).
   */
  public boolean sameUnchanged(FileStatus other) {
    return device == other.device && inode == other.inode && changeTime == other.changeTime;
  }
}
