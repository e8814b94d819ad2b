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
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
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

  /** A block of a settled file, as it stands: how it is packed, too. */
  public record Block(String kind, int how, byte[] body, long time) {
    Block(String kind, byte[] body, long time) {
      this(kind, body.length, body, time);
    }
  }

  public static List<Block> with(List<Block> blocks, int at, Block block) {
    var all = new ArrayList<>(blocks);
    all.add(at, block);
    return all;
  }

  /** A messages block without one. */
  public static Block messages(long time) {
    return new Block("SEGM", buffer(8).putLong(time).array(), time);
  }

  /** A witness of nobody, and a set of it. */
  public static Block leases(long time) {
    ByteBuffer body = buffer(4 + 3 + 4 + 4);
    body.putInt(2 << 28 | 3).put(new byte[3]).putInt(3 << 28 | 4).putInt(1);
    return new Block("SEGL", body.array(), time);
  }

  /** Other blocks of the segment, which the checkpoint names. */
  public void segment(UnaryOperator<List<Block>> edit) throws IOException {
    String digest = settled(file("segments/0000000001"), edit);
    edit(
        "horizon/checkpoints/0000000001",
        f -> {
          String text = new String(f, UTF_8);
          String body = text.substring(text.indexOf('\n') + 1);
          int at = body.indexOf("\"segments\"");
          String segments =
              body.substring(at).replaceFirst("(\"digest\" *: *\")[0-9a-f]+", "$1" + digest);
          return envelope("cinch checkpoint 4", (body.substring(0, at) + segments).getBytes(UTF_8));
        });
  }

  /** Other blocks of the lock, which the record names. */
  public void lock(UnaryOperator<List<Block>> edit) throws IOException {
    Path lock =
        all(file("buckets")).stream().filter(p -> p.endsWith("lock")).findFirst().orElseThrow();
    String before = digest(Files.readAllBytes(lock));
    long bytes = Files.size(lock);
    String after = settled(lock, edit);
    long more = Files.size(lock) - bytes;
    record(f -> replaced("cinch record 3", f, before, after));
    record(
        f -> {
          String body = new String(f, UTF_8).split("\n", 2)[1];
          String counted =
              Pattern.compile("(?<=\"settledBytes\" : )\\d+")
                  .matcher(body)
                  .replaceFirst(n -> "" + (Long.parseLong(n.group()) + more));
          return envelope("cinch record 3", counted.getBytes(UTF_8));
        });
  }

  /** The digest of a settled file: of its header, its index and its trailer. */
  private static String digest(byte[] file) {
    int at = (int) ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getLong(file.length - 44);
    ByteBuffer ends = ByteBuffer.allocate(128 + file.length - at);
    return sha256(ends.put(file, 0, 128).put(file, at, file.length - at).array());
  }

  private static String settled(Path path, UnaryOperator<List<Block>> edit) throws IOException {
    byte[] file = Files.readAllBytes(path);
    ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    int trailer = file.length - 52;
    int index = (int) in.getLong(trailer + 8);
    var blocks = new ArrayList<Block>();
    for (int at = index + 16; at < trailer; at += 28) {
      int offset = (int) in.getLong(at + 8);
      byte[] body = Arrays.copyOfRange(file, offset + 16, offset + in.getInt(at + 4));
      String kind = new String(file, offset, 4, ISO_8859_1);
      blocks.add(new Block(kind, in.getInt(offset + 8), body, in.getLong(at + 16)));
    }
    int seed = in.getInt(12);
    var out = new ByteArrayOutputStream();
    out.write(file, 0, 128);
    var entries = new ByteArrayOutputStream();
    long buckets = 0;
    for (Block block : edit.apply(List.copyOf(blocks))) {
      buckets += block.kind().equals("SEGB") ? 1 : 0;
      byte[] kind = block.kind().getBytes(ISO_8859_1);
      ByteBuffer entry = buffer(28).put(kind).putInt(16 + block.body().length);
      entry.putLong(out.size()).putLong(block.time());
      entries.writeBytes(entry.putInt(put(out, seed, block)).array());
    }
    long at = out.size();
    int unused = put(out, seed, new Block("SEGI", entries.toByteArray(), 0));
    byte[] end =
        buffer(48)
            .put("CINCHEND".getBytes(ISO_8859_1))
            .putLong(at)
            .putLong(out.size() - at)
            .putLong(in.getLong(trailer + 24))
            .putLong(buckets)
            .putLong(in.getLong(trailer + 40))
            .array();
    out.writeBytes(end);
    out.writeBytes(buffer(4).putInt(crc(buffer(4).putInt(seed).array(), end)).array());
    Files.write(path, out.toByteArray());
    return digest(out.toByteArray());
  }

  /** Its checksum. */
  private static int put(ByteArrayOutputStream out, int seed, Block block) {
    ByteBuffer head = buffer(12).put(block.kind().getBytes(ISO_8859_1));
    byte[] first = head.putInt(block.body().length).putInt(block.how()).array();
    byte[] place = buffer(12).putInt(seed).putLong(out.size()).array();
    int checksum = crc(place, first, block.body());
    out.writeBytes(first);
    out.writeBytes(buffer(4).putInt(checksum).array());
    out.writeBytes(block.body());
    return checksum;
  }
}
