package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.close.CloseBlockedException;
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LogWriter;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Modes as a real filesystem enforces them on an ordinary user. A superuser passes them all, so
 * when run as root the checks run in a JVM of another user.
 */
class OrdinaryUserTest {
  private static final String UID = "65534";

  @Test
  void modesStopOrdinaryUsersOnARealFilesystem(@TempDir Path temp) throws Exception {
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxrwxrwx"));
    if (!Integer.valueOf(0).equals(Files.getAttribute(temp, "unix:uid"))) {
      main(new String[] {temp.toString()});
      return;
    }
    Path setpriv = Path.of("/usr/bin/setpriv");
    assumeTrue(Files.isExecutable(setpriv), "run as root without setpriv: modes are not tested");
    Path log = temp.resolve("out");
    Process p =
        new ProcessBuilder(
                setpriv.toString(),
                "--reuid",
                UID,
                "--regid",
                UID,
                "--clear-groups",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                readableClassPath(temp.resolve("classes")),
                OrdinaryUserTest.class.getName(),
                temp.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    assertTrue(p.waitFor(10, TimeUnit.MINUTES), "it hangs");
    String output = Files.readString(log, StandardCharsets.UTF_8);
    assertEquals(0, p.exitValue(), output);
    assertTrue(output.contains("all checked"), output);
  }

  /** A copy: the other user may not be able to read where the classes are. */
  private static String readableClassPath(Path to) throws Exception {
    Files.createDirectory(to);
    var entries = new ArrayList<String>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path from = Path.of(entry);
      Path copy = to.resolve(entries.size() + "-" + from.getFileName());
      // An empty one is the directory of the module, where tests make and delete files meanwhile.
      if (!entry.isEmpty() && Files.exists(from)) {
        try (Stream<Path> all = Files.walk(from)) {
          for (Path p : all.toList()) {
            Files.copy(p, copy.resolve(from.relativize(p).toString()));
          }
        }
        entries.add(copy.toString());
      }
    }
    return String.join(File.pathSeparator, entries);
  }

  /**
   * The checks, as an ordinary user.
   *
   * @param args an empty directory that the user may write to
   */
  public static void main(String[] args) throws Exception {
    Rig rig = Rig.at(Path.of(args[0], "store"), 1);
    StoreFs fs = new ClockedFs(new PosixFs(null, null), rig.time);
    rig.make(fs, StoreSettings.DEFAULT);
    var ledger = new Ledger();
    var slow = new FaultyFs(fs);
    Log log = rig.open(slow);
    LogWriter writer = log.writer(Durability.CLOSE);
    var first = (Receipt.Committed) ledger.append(writer, "one");
    Name bucket = log.context().layout().bucket(first.bucket());
    Path file = LogLayout.dataFile(bucket, first.file()).path();

    // A writer goes on writing; what it writes does not exist (rule C2).
    slow.beforeFirst(op -> op.is(FaultyFs.Kind.WRITE, ".log"), () -> rig.settle(rig.open(fs)));
    long before = Files.size(file);
    assertTrue(ledger.append(writer, "late") instanceof Receipt.Rejected);
    assertTrue(Files.size(file) > before);
    ledger.check(Ledger.settled(log));

    // What can't be read stops closing with an error that names it (rule C6).
    var second = (Receipt.Committed) ledger.append(log.writer(Durability.CLOSE), "two");
    Path blocked =
        LogLayout.dataFile(log.context().layout().bucket(second.bucket()), second.file()).path();
    Files.setPosixFilePermissions(blocked, PosixFilePermissions.fromString("-w-------"));
    Log closer = rig.open(fs);
    var e = assertThrows(CloseBlockedException.class, () -> rig.settle(closer));
    assertTrue(e.toString().contains(blocked.toString()));
    Files.setPosixFilePermissions(blocked, PosixFilePermissions.fromString("rw-rw----"));
    rig.settle(closer);
    ledger.check(Ledger.settled(closer));
    assertEquals(List.of(), fs.list(log.context().layout().intents().path()));
    System.out.println("all checked");
  }
}
