package dev.cinch.sim.mutation;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Each mutation breaks one rule that is written down, and no rule has many. */
class MutationRulesTest {
  private static final List<String> PAGES =
      List.of("protocol", "storage-posix", "storage-object", "leases", "cell-rules");

  /** Where a rule begins: in bold, or in the first column of a table. */
  private static final Pattern RULE = Pattern.compile("(?:\\*\\*|(?m:^)\\| )([A-Z]\\d+[a-z]?)\\b");

  private static List<Mutation> all() throws IOException {
    var all = new ArrayList<>(MutationTest.all());
    all.addAll(CellMutationTest.all());
    return all;
  }

  private static Set<String> rules() throws IOException {
    var rules = new HashSet<String>();
    for (String page : PAGES) {
      String text = Files.readString(MutationTest.ROOT.resolve("docs/" + page + ".md"));
      RULE.matcher(text).results().forEach(found -> rules.add(found.group(1)));
    }
    return rules;
  }

  @Test
  void eachRuleStandsInItsPage() throws IOException {
    Set<String> rules = rules();
    for (Mutation m : all()) {
      boolean plain = m.rule().matches("section \\d+|step \\d of .+|.+ as printed");
      assertTrue(plain || rules.contains(m.rule()), () -> m.name() + ": no rule " + m.rule());
    }
  }

  @Test
  void noRuleHasMoreThanTwo() throws IOException {
    all().stream()
        .collect(groupingBy(Mutation::rule, counting()))
        .forEach((rule, count) -> assertTrue(count <= 2, () -> rule + " has " + count));
  }

  @Test
  void namesAreUnique() throws IOException {
    List<Mutation> all = all();
    assertEquals(all.size(), all.stream().map(Mutation::name).collect(toSet()).size());
  }
}
