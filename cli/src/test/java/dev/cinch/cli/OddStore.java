package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * A store with one log {@code jobs} and one record of one bucket, whose bytes a test writes as it
 * likes: what names them by digest is made right again. Written from docs/format.md alone.
 */
public final class OddStore {
  private static final String RECORDS = "horizon/records/0000000";
  private static final String RECORD = RECORDS + "/0000000001";

  private final Path root;
  private final Path temp;

  public OddStore(Path root, Path temp) {
    this.root = root;
    this.temp = temp;
  }

  public Path root() {
    return root;
  }

  /** A file or directory of the log. */
  public Path file(String name) {
    return root.resolve("logs/jobs").resolve(name);
  }

  /** Another store with the same bytes, which may all be changed. */
  public OddStore copy() throws IOException {
    Path to = Files.createTempDirectory(temp, "odd").resolve("store");
    for (Path from : all(root)) {
      Path copied = to.resolve(root.relativize(from));
      Files.copy(from, copied);
      String mode = Files.isDirectory(copied) ? "rwxrwxr-x" : "rw-rw-r--";
      Files.setPosixFilePermissions(copied, PosixFilePermissions.fromString(mode));
    }
    return new OddStore(to, temp);
  }

  private static List<Path> all(Path top) throws IOException {
    try (Stream<Path> all = Files.walk(top)) {
      return all.toList();
    }
  }

  public static void delete(Path top) throws IOException {
    for (Path path : all(top).stream().sorted(Comparator.reverseOrder()).toList()) {
      Files.delete(path);
    }
  }

  /** An empty file, and its directory if that is not there. */
  public void make(String name) throws IOException {
    Files.createDirectories(file(name).resolveSibling("."));
    Files.write(file(name), new byte[0]);
  }

  /** Exit code and output of {@code reader.py}, the texts of messages alone. */
  public String python(ReaderPy reader) throws IOException {
    String answer = reader.ask(root);
    return answer.startsWith("0 ")
        ? answer.replaceAll("(?m)^(0 )?[0-9]+ \\S+ [0-9]+ ", "$1")
        : answer;
  }

  static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  public static byte[] envelope(String words, byte[] body) {
    byte[] line = (words + " " + body.length + " " + sha256(body) + "\n").getBytes(UTF_8);
    return ByteBuffer.allocate(line.length + body.length).put(line).put(body).array();
  }

  public void edit(String name, UnaryOperator<byte[]> edit) throws IOException {
    Files.write(file(name), edit.apply(Files.readAllBytes(file(name))));
  }

  /** Another record, which no seal knows. */
  public void record(UnaryOperator<byte[]> edit) throws IOException {
    edit(RECORD, edit);
    for (Path seal : all(file(RECORDS))) {
      if (seal.getFileName().toString().contains(".")) {
        Files.delete(seal);
      }
    }
  }

  /** How many buckets have a lock. */
  public long locks() throws IOException {
    return all(file("buckets")).stream().filter(p -> p.endsWith("lock")).count();
  }

  private Path bucket() throws IOException {
    return all(file("buckets")).stream()
        .filter(p -> p.endsWith("lock"))
        .findFirst()
        .orElseThrow()
        .resolveSibling(".")
        .normalize();
  }

  /** Another lock, which the record names. */
  public void lock(UnaryOperator<byte[]> edit) throws IOException {
    Path lock = bucket().resolve("lock");
    byte[] before = Files.readAllBytes(lock);
    byte[] after = edit.apply(before);
    Files.write(lock, after);
    record(f -> replaced("cinch record 2", f, sha256(before), sha256(after)));
  }

  private static byte[] replaced(String words, byte[] file, String from, String to) {
    String text = new String(file, UTF_8);
    String body = text.substring(text.indexOf('\n') + 1).replace(from, to);
    return envelope(words, body.getBytes(UTF_8));
  }

  /** Other settings, of the digest that they must have. */
  public void settings(UnaryOperator<String> edit) throws IOException {
    Path file = root.resolve("store.json");
    String text = edit.apply(Files.readString(file));
    var lines = new StringBuilder();
    var fields = Pattern.compile("\"([a-zA-Z0-9]+)\" *: *(\"[^\"]*\"|[^,}\\s]+)").matcher(text);
    while (fields.find()) {
      if (!fields.group(1).equals("sha256")) {
        String value = fields.group(2).replace("\"", "");
        lines.append(fields.group(1)).append('=').append(value).append('\n');
      }
    }
    String digest = sha256(lines.toString().getBytes(UTF_8));
    Files.writeString(file, text.replaceFirst("(\"sha256\" *: *\")[0-9a-f]*", "$1" + digest));
  }

  /** A data file with the two messages, in one batch, and what is odd in it. */
  public static final class DataFile {
    public int steps;
    public int padding;
    public int more;
    public boolean empty;

    /** Offset in the file; below 0: from its end. */
    public int copyFrom;

    public int payload;
    public boolean lost;
  }

  private static ByteBuffer buffer(int length) {
    return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static int crc(byte[]... parts) {
    var crc = new CRC32();
    for (byte[] part : parts) {
      crc.update(part);
    }
    return (int) crc.getValue();
  }

  private static byte[] number(long n) {
    return buffer(8).putLong(n).array();
  }

  /** Puts it in the place of all data files of the bucket. */
  public void dataFile(Consumer<DataFile> oddness) throws IOException {
    var odd = new DataFile();
    oddness.accept(odd);
    Path bucket = bucket();
    Path before =
        all(bucket).stream().filter(p -> p.toString().endsWith(".log")).findFirst().orElseThrow();
    byte[] header = Arrays.copyOf(Files.readAllBytes(before), 82);
    header[80] = 1; // a name that has zeros behind it
    header[81] = 'm';
    byte[] incarnation = Arrays.copyOfRange(header, 48, 64);
    String name = "m-" + HexFormat.of().formatHex(incarnation) + ".log";
    long start = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).getLong(64);
    ByteBuffer head = buffer(88 + odd.more).put(header).putShort(10, (short) (88 + odd.more));
    head.put(87, (byte) odd.padding);
    byte[] h = head.array();
    int digest = crc(Arrays.copyOf(h, 12), Arrays.copyOfRange(h, 16, h.length));
    head.putInt(12, digest);
    var out = new ByteArrayOutputStream();
    out.writeBytes(h);
    var frames = new ArrayList<String[]>();
    if (odd.empty) {
      frames.add(new String[0]);
    }
    frames.add(new String[] {"one", "two"});
    int count = 0;
    for (String[] texts : frames) {
      var body = new ByteArrayOutputStream();
      for (String text : texts) {
        byte[] payload = text.getBytes(UTF_8);
        byte[] entry =
            buffer(16).putInt(1 << 28 | payload.length).putInt(0).putLong(start + count++).array();
        body.writeBytes(entry);
        body.writeBytes(payload);
      }
      if (texts.length == 0) {
        body.writeBytes(buffer(4).putInt(3 << 28).array()); // an empty lease set
      }
      if (odd.payload > 0) { // a witness of nobody
        body.writeBytes(buffer(4).putInt(2 << 28 | odd.payload).array());
        body.writeBytes(new byte[odd.payload]);
      }
      int offset = out.size();
      byte[] first =
          buffer(16)
              .put("BTCH".getBytes(ISO_8859_1))
              .putInt(body.size())
              .putInt(texts.length)
              .putInt(digest)
              .array();
      int after = crc(buffer(4).putInt(digest).array(), first, body.toByteArray());
      out.writeBytes(first);
      out.writeBytes(buffer(4).putInt(crc(incarnation, number(offset), first)).array());
      out.writeBytes(body.toByteArray());
      digest = after;
      byte[] rest =
          buffer(40)
              .putLong(offset)
              .putInt(digest)
              .putInt(odd.payload > 0 ? 1 : odd.steps)
              .putLong(count)
              .putLong(start)
              .putLong(start + Math.max(0, count - 1))
              .array();
      int trailer = out.size();
      out.writeBytes("ENDB".getBytes(ISO_8859_1));
      out.writeBytes(buffer(4).putInt(crc(incarnation, number(trailer), rest)).array());
      out.writeBytes(rest);
    }
    byte[] all = out.toByteArray();
    for (Path other : all(bucket)) {
      if (other.toString().endsWith(".log")) {
        Files.delete(other);
      }
    }
    Files.write(bucket.resolve(name), odd.lost ? new byte[0] : all);
    int copyFrom = odd.copyFrom < 0 ? all.length + odd.copyFrom : odd.copyFrom;
    String copy = Base64.getEncoder().encodeToString(Arrays.copyOfRange(all, copyFrom, all.length));
    String entry =
        "[{\"name\":\"%s\",\"validLength\":%d,\"messages\":2,\"first\":%d,\"last\":%d,\"digest\":%d,\"copy\":\"%s\"}]"
            .formatted(name, all.length, start, start + 1, digest & 0xffff_ffffL, copy);
    lock(
        f -> {
          String text = new String(f, UTF_8);
          String body = text.substring(text.indexOf('\n') + 1);
          int at = body.indexOf('[');
          return envelope("cinch lock 2", (body.substring(0, at) + entry + "}").getBytes(UTF_8));
        });
  }

  /** A copy of 100 bytes, whose base64 lacks the two signs at its end. */
  public void copyWithoutPadding() throws IOException {
    dataFile(f -> f.copyFrom = -100);
    lock(f -> replaced("cinch lock 2", f, "==\"", "\""));
  }

  /** A block of a segment. */
  public record Block(String kind, byte[] body, long time) {}

  public static List<Block> with(List<Block> blocks, int at, Block block) {
    var all = new ArrayList<>(blocks);
    all.add(at, block);
    return all;
  }

  /** A witness of nobody, and a set of it. */
  public static Block leases(long time) {
    ByteBuffer body = buffer(4 + 3 + 4 + 4);
    body.putInt(2 << 28 | 3).put(new byte[3]).putInt(3 << 28 | 4).putInt(1);
    return new Block("SEGL", body.array(), time);
  }

  /** Other blocks of the segment, which the checkpoint names. */
  public void segment(UnaryOperator<List<Block>> edit) throws IOException {
    byte[] file = Files.readAllBytes(file("segments/0000000001"));
    ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    int trailer = file.length - 44;
    int index = (int) in.getLong(trailer + 8);
    var blocks = new ArrayList<Block>();
    for (int at = index + 12; at < trailer; at += 24) {
      int offset = (int) in.getLong(at + 8);
      byte[] body = Arrays.copyOfRange(file, offset + 12, offset + in.getInt(at + 4));
      blocks.add(new Block(new String(file, offset, 4, ISO_8859_1), body, in.getLong(at + 16)));
    }
    int seed = in.getInt(12);
    var out = new ByteArrayOutputStream();
    out.write(file, 0, 128);
    var entries = new ByteArrayOutputStream();
    long buckets = 0;
    for (Block block : edit.apply(List.copyOf(blocks))) {
      buckets += block.kind().equals("SEGB") ? 1 : 0;
      byte[] kind = block.kind().getBytes(ISO_8859_1);
      entries.writeBytes(
          buffer(24)
              .put(kind)
              .putInt(12 + block.body().length)
              .putLong(out.size())
              .putLong(block.time())
              .array());
      put(out, seed, block.kind(), block.body());
    }
    long at = out.size();
    put(out, seed, "SEGI", entries.toByteArray());
    byte[] end =
        buffer(40)
            .put("CINCHEND".getBytes(ISO_8859_1))
            .putLong(at)
            .putLong(out.size() - at)
            .putLong(in.getLong(trailer + 24))
            .putLong(buckets)
            .array();
    out.writeBytes(end);
    out.writeBytes(buffer(4).putInt(crc(buffer(4).putInt(seed).array(), end)).array());
    byte[] made = out.toByteArray();
    Files.write(file("segments/0000000001"), made);
    ByteBuffer ends = ByteBuffer.allocate(128 + made.length - (int) at);
    ends.put(made, 0, 128).put(made, (int) at, made.length - (int) at);
    edit(
        "horizon/checkpoints/0000000001",
        f -> {
          String text = new String(f, UTF_8);
          String body = text.substring(text.indexOf('\n') + 1);
          body = body.replaceFirst("(\"sha256\" *: *\")[0-9a-f]+", "$1" + sha256(made));
          body = body.replaceFirst("(\"index\" *: *\")[0-9a-f]+", "$1" + sha256(ends.array()));
          return envelope("cinch checkpoint 2", body.getBytes(UTF_8));
        });
  }

  private static void put(ByteArrayOutputStream out, int seed, String kind, byte[] body) {
    byte[] head = buffer(8).put(kind.getBytes(ISO_8859_1)).putInt(body.length).array();
    byte[] place = buffer(12).putInt(seed).putLong(out.size()).array();
    out.writeBytes(head);
    out.writeBytes(buffer(4).putInt(crc(place, head, body)).array());
    out.writeBytes(body);
  }
}
