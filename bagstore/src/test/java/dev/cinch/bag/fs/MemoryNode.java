package dev.cinch.bag.fs;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** A file or directory of a {@link MemoryFs}, with what of it would survive a power cut. */
final class MemoryNode {
  final long inode;
  final boolean directory;
  final int uid;
  int mode;
  long changeTime;
  int links = 1;

  /** Of a directory. */
  Map<String, MemoryNode> entries = new TreeMap<>();

  Map<String, MemoryNode> forcedEntries = new TreeMap<>();

  /** Of a file. */
  byte[] bytes = new byte[0];

  int length;
  byte[] forcedBytes = new byte[0];

  MemoryNode(long inode, boolean directory, int uid, int mode, long changeTime) {
    this.inode = inode;
    this.directory = directory;
    this.uid = uid;
    this.mode = mode;
    this.changeTime = changeTime;
  }

  void write(int at, byte[] source, int count) {
    if (at + count > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(at + count, 2 * bytes.length));
    }
    System.arraycopy(source, 0, bytes, at, count);
    length = Math.max(length, at + count);
  }

  void force() {
    if (directory) {
      forcedEntries = new TreeMap<>(entries);
    } else {
      forcedBytes = Arrays.copyOf(bytes, length);
    }
  }

  void forceAll() {
    force();
    entries.values().forEach(MemoryNode::forceAll);
  }
}
