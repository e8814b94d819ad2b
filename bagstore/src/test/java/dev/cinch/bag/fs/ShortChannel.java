package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;

/** Gives no more than so many bytes at a time, and an old size; it can do no more than read. */
class ShortChannel extends FileChannel {
  private final FileChannel inner;
  private final int most;
  private final long size;

  ShortChannel(FileChannel inner, int most, long size) {
    this.inner = inner;
    this.most = most;
    this.size = size;
  }

  @Override
  public int read(ByteBuffer into, long position) throws IOException {
    int limit = into.limit();
    into.limit(Math.min(limit, into.position() + most));
    int n = inner.read(into, position);
    into.limit(limit);
    return n;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  protected void implCloseChannel() throws IOException {
    inner.close();
  }

  @Override
  public int read(ByteBuffer into) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long read(ByteBuffer[] into, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int write(ByteBuffer from) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long write(ByteBuffer[] from, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int write(ByteBuffer from, long position) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long position() {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileChannel position(long position) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileChannel truncate(long length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void force(boolean metaData) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferTo(long position, long count, WritableByteChannel target) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferFrom(ReadableByteChannel source, long position, long count) {
    throw new UnsupportedOperationException();
  }

  @Override
  public MappedByteBuffer map(MapMode mode, long position, long length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileLock lock(long position, long length, boolean shared) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileLock tryLock(long position, long length, boolean shared) {
    throw new UnsupportedOperationException();
  }
}
