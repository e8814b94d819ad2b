package dev.cinch.sim.fs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A file or directory as the server holds it. Contents are never changed in place. */
final class ServerNode {
  static final byte[] EMPTY = {};

  final long inode;
  final int uid;
  final @Nullable Map<String, ServerNode> entries;
  int mode;
  long changeTime;
  int links = 1;
  byte[] bytes = EMPTY;

  /** Who need not ask before they open it. */
  final List<Delegation> delegations = new ArrayList<>(0);

  /** Who has it open, where that matters to delegations. */
  final List<ClientFile> open = new ArrayList<>(0);

  /** What survives a reboot for certain. */
  byte[] committed = EMPTY;

  ServerNode(long inode, boolean directory, int uid, int mode, long changeTime) {
    this.inode = inode;
    this.uid = uid;
    this.mode = mode;
    this.changeTime = changeTime;
    this.entries = directory ? new HashMap<>() : null;
  }

  boolean directory() {
    return entries != null;
  }

  Map<String, ServerNode> children() {
    if (entries == null) {
      throw new IllegalStateException("not a directory");
    }
    return entries;
  }

  /** Writes at an offset; what lies between the end and it reads as zeros. */
  void put(int offset, byte[] data) {
    bytes = put(bytes, offset, data);
  }

  static byte[] put(byte[] bytes, int offset, byte[] data) {
    byte[] next = Arrays.copyOf(bytes, Math.max(bytes.length, offset + data.length));
    System.arraycopy(data, 0, next, offset, data.length);
    return next;
  }

  boolean permits(int user, int wanted) {
    int granted = uid == user ? mode >> 6 : mode >> 3; // all users are of one group
    return user == 0 || (granted & wanted) == wanted;
  }
}
