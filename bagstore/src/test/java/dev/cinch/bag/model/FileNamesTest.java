package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * This package is the only place that spells a file name: what its sources quote as a name is
 * quoted nowhere else, and nobody else resolves a quoted name.
 */
class FileNamesTest {
  private static final Path BAGSTORE = Path.of("src/main/java");
  private static final Path AGGREGATOR = Path.of("../aggregator/src/main/java");
  private static final Pattern NAME = Pattern.compile("\"(\\.?[a-z][a-z-]*(\\.[a-z]+)?-?)\"");
  private static final Pattern RESOLVED =
      Pattern.compile("(resolve|resolveSibling|Path\\.of)\\(\\s*\"(?!/)"); // no store is at "/…"

  private static List<Path> sources(Path root) throws IOException {
    try (Stream<Path> all = Files.walk(root)) {
      return all.filter(p -> p.toString().endsWith(".java")).sorted().toList();
    }
  }

  @Test
  void namesAreSpelledInLayoutsOnly() throws IOException {
    Path layout = BAGSTORE.resolve("dev/cinch/bag/model");
    Set<String> names = new HashSet<>();
    List<Path> here =
        Stream.of(
                "BucketTree",
                "DataFileName",
                "LogLayout",
                "Name",
                "Numbered",
                "OwnPaths",
                "SealName",
                "StoreLayout",
                "TableLayout",
                "TimeName")
            .map(name -> layout.resolve(name + ".java"))
            .toList();
    for (Path source : here) {
      NAME.matcher(Files.readString(source)).results().forEach(m -> names.add(m.group(1)));
    }
    assertTrue(names.containsAll(List.of("store.json", "prelock", "lock", ".log", "tmp-")));
    List<String> elsewhere = new ArrayList<>();
    List<Path> others = new ArrayList<>(sources(BAGSTORE));
    others.addAll(sources(AGGREGATOR));
    for (Path source : others) {
      if (here.contains(source)) {
        continue;
      }
      String text = Files.readString(source);
      RESOLVED.matcher(text).results().forEach(m -> elsewhere.add(source + ": " + m.group()));
      if (!source.startsWith(BAGSTORE.resolve("dev/cinch/bag/format"))) { // fields of documents
        NAME.matcher(text)
            .results()
            .filter(m -> names.contains(m.group(1)))
            .forEach(m -> elsewhere.add(source + ": " + m.group()));
      }
    }
    assertEquals(List.of(), elsewhere);
  }
}
