package dev.cinch.sim.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every mutation in the list still fits the sources, compiles, and loads beside the original. */
class MutationTest {
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  static List<Mutation> all() throws IOException {
    return Mutation.read(Path.of("src/test/resources/mutations.txt"));
  }

  @TestFactory
  Stream<DynamicTest> everyMutationFitsAndCompiles() throws IOException {
    return all().stream()
        .map(
            m ->
                DynamicTest.dynamicTest(
                    m.name(),
                    () -> {
                      Mutant mutant = Mutant.of(m, ROOT);
                      String name = m.edits().get(0).className();
                      Class<?> mutated = mutant.loadClass(name);
                      assertEquals(mutant, mutated.getClassLoader());
                      assertNotNull(mutated.getDeclaredMethods());
                    }));
  }

  @Test
  void namesAreUniqueAndThereAreThirty() throws IOException {
    List<Mutation> all = all();
    assertEquals(all.size(), all.stream().map(Mutation::name).distinct().count());
    assertTrue(all.size() >= 30, all.size() + " mutations");
  }
}
