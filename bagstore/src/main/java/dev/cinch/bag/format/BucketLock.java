package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
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
 * @param parts where the list of files stands; empty: in the lock itself
 */
public record BucketLock(
    Id store, Id log, Bucket bucket, List<LockedFile> files, List<Part> parts) {
  /** The longest lock, or part of one, that is read, bytes; what is written is a fraction of it. */
  public static final int MAX_BYTES = 1 << 26;

  private static final String TYPE = "lock";
  private static final String PART = "lock-part";

  /** The version whose list of files stands in the lock itself. */
  private static final int IN_ITSELF = 2;

  /** The version whose list of files stands in parts. */
  private static final int IN_PARTS = 3;

  /**
   * A file beside the lock that has some of its list.
   *
   * @param sha256 of all bytes of that file, in hexadecimal
   * @param files how many data files it lists
   */
  public record Part(String sha256, int files) {}

  /** With its list in itself. */
  public BucketLock(Id store, Id log, Bucket bucket, List<LockedFile> files) {
    this(store, log, bucket, files, List.of());
  }

  public BucketLock {
    var byName = new TreeMap<String, LockedFile>();
    for (LockedFile f : files) {
      byName.put(f.name().toString(), f);
    }
    files = List.copyOf(byName.values());
    parts = List.copyOf(parts);
  }

  /** The same with its list in these parts. */
  public BucketLock withParts(List<Part> others) {
    return new BucketLock(store, log, bucket, files, others);
  }

  /** Reads a part of a lock. */
  @FunctionalInterface
  public interface Parts {
    /**
     * @param path of the part, for error messages
     * @throws java.nio.file.NoSuchFileException if it is not there
     */
    List<LockedFile> read(Part part, Path path) throws IOException;
  }

  /**
   * Reads a lock, its parts included.
   *
   * @param path for error messages
   * @throws DamagedException also if a part is missing or another one
   */
  public static BucketLock decode(byte[] bytes, Path path, Parts beside) throws IOException {
    BucketLock lock = decode(bytes, path);
    if (lock.parts().isEmpty()) {
      return lock;
    }
    var files = new ArrayList<LockedFile>();
    for (Part part : lock.parts()) {
      Path file = LogLayout.lockPart(path, part.sha256());
      try {
        files.addAll(beside.read(part, file));
      } catch (NoSuchFileException e) {
        throw new DamagedException(file, 0, "a part of the lock beside it", "no file");
      }
    }
    return lock.withFiles(files, path);
  }

  /**
   * The same with the list that its parts have.
   *
   * @param path for error messages
   * @throws DamagedException if the parts are not in the order of names
   */
  private BucketLock withFiles(List<LockedFile> listed, Path path) throws DamagedException {
    String before = "";
    long left = Long.MAX_VALUE;
    for (LockedFile f : listed) {
      before = ascending(before, f.name().toString(), path);
      if (f.messages() > left) {
        throw new DamagedException(path, 0, "messages whose sum is a number", "more");
      }
      left -= f.messages();
    }
    return new BucketLock(store, log, bucket, listed, parts);
  }

  /** What it says of a file; empty if the file was not found when the bucket was closed. */
  public Optional<LockedFile> file(DataFileName name) {
    return files.stream().filter(f -> f.name().equals(name)).findFirst();
  }

  /** Messages in all files. */
  public long messages() {
    return files.stream().mapToLong(LockedFile::messages).sum();
  }

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("store", store.toString()).put("log", log.toString());
    document.put("start", bucket.start()).put("width", bucket.width());
    if (parts.isEmpty()) {
      putFiles(document, files);
      return Envelope.encode(TYPE, IN_ITSELF, document);
    }
    var array = document.putArray("parts");
    for (Part p : parts) {
      array.addObject().put("sha256", p.sha256()).put("files", p.files());
    }
    return Envelope.encode(TYPE, IN_PARTS, document);
  }

  /** The bytes of a part that lists these. */
  public static byte[] encodePart(List<LockedFile> files) {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    putFiles(document, files);
    return Envelope.encode(PART, document);
  }

  private static void putFiles(ObjectNode document, List<LockedFile> files) {
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
  }

  /**
   * What a part lists.
   *
   * @param path for error messages
   * @param part what the lock says of it
   * @throws DamagedException if it is not that part
   */
  public static List<LockedFile> decodePart(byte[] bytes, Path path, Part part)
      throws DamagedException {
    String digest = Envelope.sha256(bytes);
    if (!digest.equals(part.sha256())) {
      throw new DamagedException(path, 0, "SHA-256 " + part.sha256(), digest);
    }
    List<LockedFile> files = files(Envelope.decode(PART, bytes, path), path);
    if (files.size() != part.files()) {
      throw new DamagedException(path, 0, part.files() + " data files", "" + files.size());
    }
    return files;
  }

  /**
   * Reads a lock; of one in parts, which parts they are.
   *
   * @param path for error messages
   * @throws DamagedException if it is not a lock, was cut short or altered
   */
  public static BucketLock decode(byte[] bytes, Path path) throws DamagedException {
    Envelope.Document read = Envelope.decode(TYPE, IN_ITSELF, IN_PARTS, bytes, path);
    Fields in = read.fields();
    boolean inParts = read.version() == IN_PARTS;
    List<LockedFile> files = inParts ? List.of() : files(in, path);
    var parts = new ArrayList<Part>();
    if (inParts) {
      for (Fields f : in.objects("parts")) {
        parts.add(new Part(f.sha256("sha256"), (int) f.number("files", 1, Integer.MAX_VALUE)));
      }
      if (parts.isEmpty()) {
        throw new DamagedException(path, 0, "parts", "none");
      }
    }
    long start = in.number("start");
    long width = in.number("width", 1, Long.MAX_VALUE);
    if (Math.floorMod(start, width) != 0) {
      throw new DamagedException(path, 0, "a start that is a multiple of the width", "" + start);
    }
    return new BucketLock(in.id("store"), in.id("log"), new Bucket(start, width), files, parts);
  }

  private static List<LockedFile> files(Fields in, Path path) throws DamagedException {
    var files = new ArrayList<LockedFile>();
    String before = "";
    long left = Long.MAX_VALUE; // so that nobody's sum is more than a number holds
    for (Fields f : in.objects("files")) {
      String name = f.text("name");
      before = ascending(before, name, path);
      LockedFile file = file(f, name, left, path);
      left -= file.messages();
      files.add(file);
    }
    return files;
  }

  private static String ascending(String before, String name, Path path) throws DamagedException {
    if (name.compareTo(before) <= 0) {
      throw new DamagedException(path, 0, "each data file once, in the order of names", name);
    }
    return name;
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
