package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class GlusterClientTest {
  private static OptionalDouble timeout(String... commandLines) {
    return GlusterClient.attributeTimeout(
        "/mnt/g", List.of(commandLines).stream().map(l -> List.of(l.split(" "))).toList());
  }

  @Test
  void theProcessOfTheMountPointSaysIt() {
    String gluster = "/usr/sbin/glusterfs --volfile-server=s --volfile-id=v ";
    assertEquals(OptionalDouble.of(1), timeout(gluster + "/mnt/g"));
    assertEquals(OptionalDouble.of(600), timeout(gluster + "--attribute-timeout=600 /mnt/g"));
    assertEquals(OptionalDouble.of(0.5), timeout(gluster + "--attribute-timeout 0.5 /mnt/g/"));
    assertEquals(
        OptionalDouble.of(600),
        timeout(gluster + "--attribute-timeout=600 /mnt/g", gluster + "/mnt/g"));
    assertTrue(timeout(gluster + "--attribute-timeout=long /mnt/g").isEmpty());
  }

  @Test
  void othersSayNothing() {
    assertTrue(timeout().isEmpty());
    assertTrue(timeout("/usr/sbin/glusterfs --attribute-timeout=600 /mnt/other").isEmpty());
    assertTrue(timeout("vi /mnt/g", "", "glusterfs").isEmpty());
  }

  @Test
  void processesAreFound() throws Exception {
    assertTrue(
        GlusterClient.commandLines().stream()
            .flatMap(List::stream)
            .anyMatch(a -> a.contains("java")));
  }
}
