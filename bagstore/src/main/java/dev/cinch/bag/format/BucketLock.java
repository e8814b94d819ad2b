package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.lease.Id;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The content of a bucket's {@code lock}: what exists in it, for ever (rule C1).
 *
 * @param store the store's id
 * @param log the log's id
 * @param bucket which one
 * @param files every data file that was found, by name; one without a valid batch has valid length
 *     0
 * @param version of its format: 2 says that it was made under an intent that stays until a record
 *     has reached it (rule H7); 1 is from earlier software, and says nothing of that
 */
public record BucketLock(Id store, Id log, Bucket bucket, List<LockedFile> files, int version) {
  private static final String TYPE = "lock";

  /** The first version that is made under an intent that stays. */
  private static final int ANNOUNCED = 2;

  /** As closers make it now. */
  public BucketLock(Id store, Id log, Bucket bucket, List<LockedFile> files) {
    this(store, log, bucket, files, ANNOUNCED);
  }

  public BucketLock {
    var byName = new TreeMap<String, LockedFile>();
    for (LockedFile f : files) {
      byName.put(f.name().toString(), f);
    }
    files = List.copyOf(byName.values());
  }

  /** What it says of a file; empty if the file was not found when the bucket was closed. */
  public Optional<LockedFile> file(DataFileName name) {
    return files.stream().filter(f -> f.name().equals(name)).findFirst();
  }

  /** Messages in all files. */
  public long messages() {
    return files.stream().mapToLong(LockedFile::messages).sum();
  }

  /** Whether an intent reaches it until a record does. */
  public boolean isAnnounced() {
    return version >= ANNOUNCED;
  }

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("store", store.toString()).put("log", log.toString());
    document.put("start", bucket.start()).put("width", bucket.width());
    var array = document.putArray("files");
    for (LockedFile f : files) {
      array
          .addObject()
          .put("name", f.name().toString())
          .put("validLength", f.validLength())
          .put("messages", f.messages())
          .put("first", f.first())
          .put("last", f.last())
          .put("digest", f.digest() & 0xffff_ffffL)
          .put("copy", Base64.getEncoder().encodeToString(f.copy()));
    }
    return Envelope.encode(TYPE, version, document);
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is not a lock, was cut short or altered
   */
  public static BucketLock decode(byte[] bytes, Path path) throws DamagedException {
    Envelope.Document read = Envelope.decode(TYPE, Envelope.FIRST_VERSION, ANNOUNCED, bytes, path);
    Fields in = read.fields();
    var files = new ArrayList<LockedFile>();
    String before = "";
    long left = Long.MAX_VALUE; // so that nobody's sum is more than a number holds
    for (Fields f : in.objects("files")) {
      String name = f.text("name");
      if (name.compareTo(before) <= 0) {
        throw new DamagedException(path, 0, "each data file once, in the order of names", name);
      }
      before = name;
      LockedFile file = file(f, name, left, path);
      left -= file.messages();
      files.add(file);
    }
    long start = in.number("start");
    long width = in.number("width", 1, Long.MAX_VALUE);
    if (Math.floorMod(start, width) != 0) {
      throw new DamagedException(path, 0, "a start that is a multiple of the width", "" + start);
    }
    return new BucketLock(
        in.id("store"), in.id("log"), new Bucket(start, width), files, read.version());
  }

  private static LockedFile file(Fields f, String name, long most, Path path)
      throws DamagedException {
    byte[] copy = f.bytes("copy");
    var file =
        new LockedFile(
            DataFileName.parse(name)
                .orElseThrow(() -> new DamagedException(path, 0, "a data file's name", name)),
            f.number("validLength", copy.length, Long.MAX_VALUE),
            f.number("messages", 0, most),
            f.number("first"),
            f.number("last"),
            (int) f.number("digest", 0, 0xffff_ffffL),
            copy);
    if (!file.isPossible()) {
      throw new DamagedException(
          path,
          0,
          "a length, a number of messages and timestamps of " + name + " that fit together",
          "%d bytes, %d messages from %d to %d"
              .formatted(file.validLength(), file.messages(), file.first(), file.last()));
    }
    return file;
  }
}
