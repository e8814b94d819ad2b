package dev.cinch.cli.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What examples/monitoring watches is there, and is described. */
@Timeout(600)
final class MonitoringTest {
  private static final Path EXAMPLES = Path.of("..", "examples", "monitoring");
  private static final Pattern NAME = Pattern.compile("\\bcinch_[a-z_]+");

  @TempDir Path temp;

  private static Set<String> names(String text) {
    return NAME.matcher(text).results().map(MatchResult::group).collect(Collectors.toSet());
  }

  /** As a node of a cell has it. */
  private static String metrics() throws Exception {
    ObjectNode node =
        JsonNodeFactory.instance.objectNode().put("quarantinedUntil", "1970-01-01T00:00:00Z");
    for (String field :
        List.of("boot", "rows", "names", "attempts", "answering", "ballots", "faults")) {
      node.put(field, 1);
    }
    node.putArray("peers").addObject().put("node", 2).put("heardAgoMs", 1).put("clockAheadMs", 1);
    node.putObject("traffic");
    var service =
        ServiceInstance.builder(
                new WitnessSigner(SigningKey.ofSeed(new byte[32])), SystemTime.INSTANCE)
            .fresh(true)
            .start();
    try (LeaseServer server =
        LeaseServer.builder(service, service::info).port(0).cell(() -> Optional.of(node)).start()) {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(URI.create(server.uri() + "/metrics")).build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    }
  }

  private String status() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "a\n");
    return cinch.run("status", "--no-server", "--prometheus").ended(0).out();
  }

  @Test
  void whatIsWatchedIsThereAndOnThePages() throws Exception {
    Set<String> there = names(metrics() + status());
    var watched = new ArrayList<>(names(Files.readString(EXAMPLES.resolve("alerts.yml"))));
    JsonNode dashboard = new ObjectMapper().readTree(EXAMPLES.resolve("grafana.json").toFile());
    for (JsonNode panel : dashboard.get("panels")) {
      for (JsonNode target : panel.get("targets")) {
        Set<String> used = names(target.get("expr").asText());
        assertTrue(!used.isEmpty(), target::toString);
        watched.addAll(used);
      }
    }
    watched.removeAll(there);
    assertEquals(List.of(), watched);
    String pages =
        Files.readString(Path.of("..", "docs", "lease-api.md"))
            + Files.readString(Path.of("..", "docs", "operating.md"));
    for (String name : there) {
      String family = name.replaceAll("_(bucket|sum|count)$", "");
      String rest = family.replaceFirst("^cinch_cell(_datagrams)?(?=_)", "");
      assertTrue(pages.contains("`" + family) || pages.contains("`" + rest + "`"), family);
    }
  }

  /** One help and one type before the values of each, and no value twice. */
  @Test
  void eachNumberOfAStoreIsDescribedOnce() throws Exception {
    var seen = new HashSet<String>();
    String metric = "";
    for (String line : status().lines().toList()) {
      String[] words = line.split("[ {]", 4);
      assertTrue(seen.add(line.startsWith("#") ? words[1] + words[2] : line.split(" ")[0]), line);
      if (line.startsWith("# HELP")) {
        metric = words[2];
      } else if (line.startsWith("#")) {
        assertEquals("# TYPE " + metric + " gauge", line);
      } else {
        assertTrue(
            line.matches(metric + "\\{[a-z]+=\"[^\"]*\"(,[a-z]+=\"[^\"]*\")*\\} -?[0-9.E]+"), line);
      }
    }
    assertTrue(seen.size() > 30, seen::toString);
  }
}
