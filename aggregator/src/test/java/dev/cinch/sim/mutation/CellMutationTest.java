package dev.cinch.sim.mutation;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Rules of replicated leases, broken on purpose: each is seen, by one of three kinds of tests. */
class CellMutationTest {
  static List<Mutation> all() throws IOException {
    return Mutation.read(Path.of("src/test/resources/cell-mutations.txt"));
  }

  @Test
  void everyMutationFits() throws IOException {
    for (Mutation m : all()) {
      for (Mutation.Edit edit : m.edits()) {
        String text = Files.readString(MutationTest.ROOT.resolve(edit.source()));
        assertNotEquals(text, edit.applyTo(text), m.name());
      }
    }
  }

  @TestFactory
  @Tag("share")
  Stream<DynamicTest> everyMutationIsSeen() throws IOException {
    List<Mutation> all = all();
    return IntStream.range(0, all.size())
        .filter(i -> i % Share.step(19) == 0)
        .mapToObj(all::get)
        .map(
            m ->
                DynamicTest.dynamicTest(
                    m.name(),
                    () ->
                        assertTrue(
                            Stream.of("PaxosLease", "Flease")
                                .flatMap(a -> CellMutant.of(m).seenBy(a, 2_000, 100_000).stream())
                                .findAny()
                                .isPresent())));
  }
}
