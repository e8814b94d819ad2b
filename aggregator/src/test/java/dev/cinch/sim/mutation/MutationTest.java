package dev.cinch.sim.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every mutation in the list still fits the sources; a share compiles, and loads beside the
 * original.
 */
class MutationTest {
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  static List<Mutation> all() throws IOException {
    return Mutation.read(Path.of("src/test/resources/mutations.txt"));
  }

  @Test
  void everyMutationFits() throws IOException {
    for (Mutation m : all()) {
      for (Mutation.Edit edit : m.edits()) {
        String text = Files.readString(ROOT.resolve(edit.source()));
        assertNotEquals(text, edit.applyTo(text), m.name());
      }
    }
  }

  @TestFactory
  @Tag("share")
  Stream<DynamicTest> mutationsCompile() throws IOException {
    return Share.some(all(), 19).stream()
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
}
