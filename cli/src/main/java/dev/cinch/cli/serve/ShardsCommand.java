package dev.cinch.cli.serve;

import dev.cinch.bag.Store;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.Misuse;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.StoreOptions;
import dev.cinch.cli.base.Table;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Prints and changes how the names of leases are spread over lease servers (rule L16). */
@Command(
    name = "shards",
    customSynopsis = "cinch shards [OPTION]... [set N]",
    description = {
      "Print the store's shard map and the lease server of each shard, without asking them.",
      "With set N, publish the next map first, signed with the store's key. The servers of the one"
          + " before stop granting leases when they see it; those of this one are started with"
          + " cinch serve --shard. Holders go on."
    },
    footer = {
      "",
      "Examples:",
      "  cinch shards",
      "  cinch serve --shard 1/2 & cinch serve --shard 2/2 --port 8471 & # they wait for the map",
      "  cinch shards set 2 --key cinch.key"
    })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ShardsCommand implements Callable<Integer> {
  private static final List<String> HEAD = List.of("SHARD", "INSTANCE", "MACHINE", "ADDRESS");

  private final Io io;

  @Mixin StoreOptions store;
  @Mixin JsonOption json;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      defaultValue = "cinch.key",
      description = "With set: a signing key that the store trusts, by which the map counts.")
  Path key;

  @Parameters(
      arity = "0..2",
      paramLabel = "set N",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "Publish a map of N shards, 1 to 1000.")
  List<String> words = new ArrayList<>();

  ShardsCommand(Io io) {
    this.io = io;
  }

  @Override
  public Integer call() throws IOException {
    if (!words.isEmpty() && !(words.size() == 2 && words.get(0).equals("set"))) {
      throw new Misuse("nothing, or set and a number: cinch shards set 4");
    }
    Store opened = store.open();
    if (!words.isEmpty()) {
      set(opened, words.get(1));
    }
    ShardServers shards = StoreShards.look(opened.context()).servers();
    try (Output out = io.output()) {
      out.ifClosed(ExitCode.GOOD);
      if (json.json) {
        print(shards, new JsonLines(out));
      } else {
        print(shards, out);
      }
    }
    return ExitCode.GOOD;
  }

  private static void print(ShardServers shards, Output out) throws IOException {
    ShardMap map = shards.map();
    out.line(map.number() == 0 ? "no shard map: one server has all names" : map.inWords());
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    for (int shard = 1; shard <= map.count(); shard++) {
      String index = shard + "/" + map.count();
      rows.add(
          shards
              .shard(shard)
              .map(s -> List.of(index, "" + s.instance(), dash(s.machine()), dash(s.address())))
              .orElse(List.of(index, "-", "-", "not started yet")));
    }
    for (String line : new Table(HEAD.size(), HEAD.size()).lines(rows)) {
      out.line(line);
    }
  }

  private static String dash(String text) {
    return text.isEmpty() ? "-" : text;
  }

  private static void print(ShardServers shards, JsonLines json) throws IOException {
    json.object().number("map", shards.map().number()).number("shards", shards.map().count());
    json.list("servers");
    for (ShardServers.Server s : shards.servers()) {
      json.object().number("shard", s.shard()).number("instance", s.instance());
      if (!s.address().isEmpty()) {
        json.text("address", s.address()).text("machine", s.machine());
      }
      json.end();
    }
    json.end().end();
  }

  private void set(Store opened, String number) throws IOException {
    int count = number.matches("\\d{1,9}") ? Integer.parseInt(number) : 0;
    if (count < 1 || count > ShardMap.MAX_SHARDS) {
      throw new Misuse("a shard map has 1 to " + ShardMap.MAX_SHARDS + " shards, not " + number);
    }
    ShardMap before = StoreShards.look(opened.context()).map();
    if (before.count() == count) {
      throw new Failure.Refusal(
          before.number() == 0
              ? "one server has all names already: the store has no shard map"
              : "the store has " + before.inWords() + " already");
    }
    ShardMap map = StoreShards.publish(opened.context(), count, signing(opened));
    if (map.count() != count) {
      throw new Failure.Refusal("somebody else has published " + map.inWords());
    }
  }

  private SigningKey signing(Store opened) throws IOException {
    if (Files.notExists(key) && TrustedKeyFiles.any(opened.context())) {
      throw new Failure.Refusal(
          key
              + ": no such file, and servers go by a map that the store's key signed: name the file"
              + " with --key");
    }
    return KeygenCommand.load(key, io, "cinch shards");
  }
}
