package dev.cinch.cli.cell;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.InstanceFile;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.base.CellMember;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.serve.EarlierInstance;
import dev.cinch.cli.serve.KeygenCommand;
import dev.cinch.cli.serve.ServeBackend;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.cell.net.CellKey;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes a cell: its file, its key, and the number that its nodes have in the store. */
@Command(
    name = "init",
    sortOptions = false,
    description = {
      "Make a cell of lease servers for a store.",
      "That is its file, its key, which lets nodes talk to each other, and a signing key for each"
          + " node, which the store's own key signs now. Keys have mode 0600. All nodes are one"
          + " instance of the lease service, whose number is taken now. So a server that served the"
          + " store stops within five seconds, and nothing is granted until a majority of the nodes"
          + " runs and that server's last ceiling has passed. Exit code 3 if a server of the store"
          + " answers, if there is such a file, or if the store has a shard map, which cells can't"
          + " serve."
    },
    footer = {
      "",
      "The file and its key are for the machines of all nodes, and for nobody else: whoever has the"
          + " key can take leases. Each signing key is for one node's machine; the store's is for"
          + " none.",
      "",
      "Example:",
      "  cinch cell init cell.json --store /mnt/shared/store --node 10.0.0.1:7420 \\",
      "      --node 10.0.0.2:7420 --node 10.0.0.3:7420=http://web-3:8470"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CellInitCommand implements Callable<Integer> {
  private static final int FEW = 3;
  private static final int RATE_ERROR_PPM = 500;

  /**
   * What nodes remember of a name beyond the time that its lease may last. A name that comes back
   * later inherits a fence, up to so long ago: by then logs that are closed have settled.
   */
  private static final Duration KEPT = Duration.ofMinutes(2);

  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  @Parameters(
      paramLabel = "CELL-FILE",
      description = "Where to write it; its key stands beside it.")
  Path file;

  @Option(
      names = "--node",
      required = true,
      paramLabel = "HOST:PORT[=URL]",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description =
          "A node: where the others reach it by UDP, and its address for clients, http://HOST:8470"
              + " unless given. Repeated for each node, 3 to 7 of them: the first has id 1.")
  List<CellMember> members = new ArrayList<>();

  @Option(
      names = "--key",
      paramLabel = "FILE",
      defaultValue = "cinch.key",
      description =
          "The store's signing key, which signs those of the nodes; made if there is none and the"
              + " store has none.")
  Path storeKey;

  @Option(
      names = "--algorithm",
      paramLabel = "NAME",
      defaultValue = "paxoslease",
      description =
          "paxoslease, which needs clocks that run at the same rate, or flease, which needs clocks"
              + " that show the same time.")
  String algorithm;

  @Option(
      names = "--longest-lease",
      paramLabel = "DURATION",
      description =
          "The longest lease that the cell grants, and how long a node is silent after a start; the"
              + " store's, usually 60s.")
  @Nullable Duration longestLease;

  @Option(
      names = "--rate-error",
      paramLabel = "PPM",
      description =
          "With paxoslease: by how much a clock's rate may be off, in parts of a million; 500.")
  @Nullable Integer rateError;

  @Option(
      names = "--clock-error",
      paramLabel = "DURATION",
      description =
          "With flease: how far the clocks of two nodes may be apart; what the store allows,"
              + " usually 1.2s. Less makes names free sooner after a node died, and needs clocks"
              + " that are watched.")
  @Nullable Duration clockError;

  @Option(
      names = "--datagram-bytes",
      paramLabel = "BYTES",
      defaultValue = "8192",
      description = "How large datagrams between nodes may be, 512 to 61440.")
  int datagramBytes;

  @Option(
      names = "--replace",
      description = "Make it also while a server of this store answers, and end that one.")
  boolean replace;

  /** When the cell is made: before anything of it. */
  private long sinceMs;

  CellInitCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    Store opened = store.open();
    Path key = keyFile();
    sinceMs = SystemTime.INSTANCE.wallNanos() / 1_000_000;
    CellFile draft = draft(opened, key, 1);
    InstanceFile where = where(draft);
    requireNew(file);
    requireNew(key);
    for (CellFile.Node node : draft.nodes()) {
      requireNew(draft.signingKey(file, node.id()));
    }
    requireReplaceable(opened);
    SigningKey signing = trusted(opened);
    if (members.size() < FEW) {
      io.say("cinch cell init", "a cell of fewer than 3 nodes goes on only while all of them do");
    }
    CellFile cell = make(opened, key, where, signing);
    try (Output out = io.output()) {
      json.print(
          out,
          "%s: instance %d, %d nodes; it and %s are for the machine of each, %s for the first's and so on"
              .formatted(
                  file,
                  cell.instance(),
                  cell.nodes().size(),
                  key,
                  cell.signingKey(file, cell.nodes().get(0).id())),
          line ->
              line.text("file", file.toString())
                  .text("keyFile", key.toString())
                  .number("instance", cell.instance())
                  .number("nodes", cell.nodes().size()));
    }
    return ExitCode.GOOD;
  }

  private Path keyFile() {
    Path name = file.getFileName();
    if (name == null) {
      throw new Misuse(file + " is no file");
    }
    return file.resolveSibling(name.toString().replaceFirst("\\.json$", "") + ".key");
  }

  private CellFile draft(Store opened, Path key, long instance) {
    var nodes = new ArrayList<CellFile.Node>();
    for (CellMember member : members) {
      nodes.add(member.node(nodes.size() + 1));
    }
    try {
      var cell =
          new CellFile(
              instance,
              sinceMs,
              Optional.of(opened.context().identity().id()),
              algorithm(opened),
              datagramBytes,
              Path.of(String.valueOf(key.getFileName())),
              nodes);
      cell.check(file);
      return cell;
    } catch (IOException | IllegalArgumentException e) {
      throw new Misuse(String.valueOf(e.getMessage()), e);
    }
  }

  private Algorithm algorithm(Store opened) {
    long longest =
        longestLease == null
            ? opened.settings().longestLeaseMs() * 1_000_000
            : longestLease.toNanos();
    if (longest % 1_000_000 != 0) {
      throw new IllegalArgumentException("--longest-lease is a number of milliseconds");
    }
    long keep = longest + 2 * 1_000_000 * ServeBackend.apartMs(opened) + KEPT.toNanos();
    switch (algorithm) {
      case "paxoslease" -> {
        if (clockError != null) {
          throw new IllegalArgumentException("--clock-error goes with --algorithm flease");
        }
        int ppm = rateError == null ? RATE_ERROR_PPM : rateError;
        return new PaxosLease(longest, ppm, keep);
      }
      case "flease" -> {
        if (rateError != null) {
          throw new IllegalArgumentException("--rate-error goes with --algorithm paxoslease");
        }
        long error =
            clockError == null ? clockError(opened.settings(), longest) : clockError.toNanos();
        if (error % 1_000_000 != 0) {
          throw new IllegalArgumentException("--clock-error is a number of milliseconds");
        }
        return new Flease(longest, error, keep);
      }
      default ->
          throw new IllegalArgumentException(
              "--algorithm is paxoslease or flease, not " + algorithm);
    }
  }

  /** What the store allows, which nodes are held to, but for stores of very short leases. */
  private static long clockError(StoreSettings settings, long longest) {
    long millis = Math.min(settings.clocksApartNanos(), longest / 4) / 1_000_000;
    return millis * 1_000_000;
  }

  private InstanceFile where(CellFile cell) {
    try {
      return new InstanceFile(cell.httpAddresses(), MachineNames.ofHost().value());
    } catch (IllegalArgumentException e) {
      throw new Misuse("the addresses of all nodes are too long for the store", e);
    }
  }

  private static void requireNew(Path path) throws Failure.Refusal {
    if (Files.exists(path)) {
      throw exists(path);
    }
  }

  private static Failure.Refusal exists(Path path) {
    return new Failure.Refusal(
        path + " is there already: name another file, or delete it if no node runs by it");
  }

  private void requireReplaceable(Store opened) throws IOException {
    ShardMap map = StoreShards.look(opened.context()).map();
    if (map.number() > 0) {
      throw new Failure.Refusal(
          "the store has %s, and cells serve stores without one".formatted(map.inWords()));
    }
    if (!replace) {
      new EarlierInstance(opened.context(), Shard.WHOLE, MachineNames.ofHost(), Credentials.NONE)
          .requireGone()
          .ifPresent(note -> io.say("cinch cell init", note));
    }
  }

  /** The store's key, before anything is made that it can't sign. */
  private SigningKey trusted(Store opened) throws IOException {
    if (Files.notExists(storeKey) && TrustedKeyFiles.any(opened.context())) {
      throw new Failure.Refusal(
          storeKey + ": no such file, and the store has its key already: name the file with --key");
    }
    SigningKey signing = KeygenCommand.load(storeKey, io, "cinch cell init");
    long unused = TrustedKeyFiles.add(opened.context(), signing);
    return signing;
  }

  /** All files first, so that the number is not taken in vain where they can't be written. */
  private CellFile make(Store opened, Path key, InstanceFile where, SigningKey signing)
      throws IOException {
    var made = new ArrayList<Path>();
    try {
      CellKey.create(key);
      made.add(key);
      CellFile cell = make(opened, key, where, signing, made);
      made.clear();
      return cell;
    } catch (FileAlreadyExistsException e) {
      throw exists(Path.of(String.valueOf(e.getFile())));
    } finally {
      for (Path each : made) {
        Files.deleteIfExists(each);
      }
    }
  }

  /**
   * @param made where files are noted that are to be removed again
   */
  private CellFile make(
      Store opened, Path key, InstanceFile where, SigningKey signing, List<Path> made)
      throws IOException {
    CellFile draft = draft(opened, key, 1);
    var keys = new ArrayList<PublicKey>();
    for (CellFile.Node node : draft.nodes()) {
      SigningKey own = SigningKey.generate();
      Path at = draft.signingKey(file, node.id());
      own.write(at);
      made.add(at);
      keys.add(own.publicKey());
    }
    try (FileChannel out =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      made.add(file);
      long number = new StoreInstances(opened.context(), where, signing).takeNumber();
      made.clear(); // it is taken, whatever comes
      CellFile cell = draft(opened, key, number);
      write(out, cell, opened, keys, signing);
      return cell;
    }
  }

  /** The store trusts the nodes' keys before anybody can start a node. */
  private void write(
      FileChannel out, CellFile cell, Store opened, List<PublicKey> nodes, SigningKey signing)
      throws IOException {
    try {
      for (PublicKey node : nodes) {
        long unused = TrustedKeyFiles.add(opened.context(), node, signing);
      }
      ByteBuffer bytes = ByteBuffer.wrap(cell.encode());
      while (bytes.hasRemaining()) {
        out.write(bytes);
      }
      out.force(true);
    } catch (IOException e) {
      throw new IOException(
          file
              + " was not written, and instance "
              + cell.instance()
              + " has been taken for it: delete it and its keys, and make the cell again: "
              + e.getMessage(),
          e);
    }
  }
}
