package dev.cinch.bag.storage.object;

import dev.cinch.lease.time.TimeSource;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;

/** An object store in memory, whose listings have pages of three. Thread-safe. */
public final class FakeObjects implements Objects {
  private record Put(byte[] bytes, long at) {}

  private static final int PAGE = 3;
  private static final long SECOND = 1_000_000_000L;

  private final NavigableMap<String, Put> all = new ConcurrentSkipListMap<>();
  private final TimeSource time;

  public FakeObjects(TimeSource time) {
    this.time = time;
  }

  /** Another one, with the same objects and a clock of its own. */
  public FakeObjects copy(TimeSource clock) {
    var copy = new FakeObjects(clock);
    copy.all.putAll(all);
    return copy;
  }

  private long now() {
    return Math.floorDiv(time.wallNanos(), SECOND) * SECOND;
  }

  @Override
  public boolean put(String key, ByteBuffer... body) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Arrays.stream(body).mapToInt(ByteBuffer::remaining).sum());
    for (ByteBuffer part : body) {
      bytes.put(part.duplicate());
    }
    return all.putIfAbsent(key, new Put(bytes.array(), now())) == null;
  }

  @Override
  public Got get(String key, long from, int most) throws NoSuchFileException {
    Put found = all.get(key);
    if (found == null) {
      throw new NoSuchFileException(key);
    }
    int size = found.bytes.length;
    int begin = (int) Math.min(from, size);
    byte[] part = Arrays.copyOfRange(found.bytes, begin, Math.min(size, begin + most));
    return new Got(part, size, found.at, now());
  }

  @Override
  public Listing list(String prefix, String after, boolean places) {
    var objects = new ArrayList<Listed>();
    var found = new ArrayList<String>();
    String last = after;
    for (var entry : all.tailMap(last, false).entrySet()) {
      String key = entry.getKey();
      // A place was told with its first key; what all begin with is none.
      boolean told = last.length() > prefix.length() && last.endsWith("/");
      if (!key.startsWith(prefix) || (places && told && key.startsWith(last))) {
        continue;
      }
      if (objects.size() + found.size() == PAGE) {
        return new Listing(objects, found, Optional.of(last));
      }
      int slash = places ? key.indexOf('/', prefix.length()) : -1;
      if (slash < 0) {
        objects.add(new Listed(key, entry.getValue().bytes.length, entry.getValue().at));
        last = key;
      } else {
        last = key.substring(0, slash + 1);
        found.add(last);
      }
    }
    return new Listing(List.copyOf(objects), found, Optional.empty());
  }

  @Override
  public void delete(String key) {
    Put unused = all.remove(key);
  }

  /** All there is, a line each. */
  @Override
  public String toString() {
    var text = new StringBuilder();
    all.forEach((key, put) -> text.append(key).append(' ').append(put.bytes.length).append('\n'));
    return text.toString();
  }
}
