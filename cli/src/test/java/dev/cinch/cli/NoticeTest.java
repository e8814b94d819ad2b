package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;

/** What is distributed is named with its license; runs after packaging. */
class NoticeTest {
  private static final Pattern LINE =
      Pattern.compile("(?m)^(\\S.*) (\\S+) \\(([a-z0-9.]+)\\), \\S.*, https://\\S+$");

  /** Those of artifacts and groups that are called otherwise. */
  private static final Map<String, String> PACKAGES =
      Map.of(
          "info.picocli", "picocli",
          "com.google.guava", "com.google.common");

  @Test
  void theNoticeNamesEverythingThatTheJarContainsInItsVersion() throws Exception {
    var versions = new HashMap<String, String>();
    var lines = LINE.matcher(Files.readString(Path.of("../NOTICE"), StandardCharsets.UTF_8));
    while (lines.find()) {
      versions.put(lines.group(3), lines.group(2));
    }
    var unnamed = new TreeSet<String>();
    var used = new TreeSet<String>();
    try (ZipFile jar = new ZipFile("target/cinch.jar")) {
      for (var entry : jar.stream().toList()) {
        String name = entry.getName().replaceFirst("^META-INF/versions/[0-9]+/", "");
        if (name.endsWith(".class") && !name.startsWith("dev/cinch/")) {
          String type = name.replace('/', '.');
          List<String> theirs =
              versions.keySet().stream().filter(p -> type.startsWith(p + ".")).toList();
          used.addAll(theirs);
          if (theirs.isEmpty()) {
            unnamed.add(type);
          }
        }
        if (name.endsWith("/pom.properties")) {
          var artifact = new Properties();
          artifact.load(jar.getInputStream(entry));
          check(artifact, versions);
        }
      }
    }
    assertEquals(new TreeSet<>(), unnamed);
    assertEquals(new TreeSet<>(versions.keySet()), used, "named, and not in the jar");
  }

  private static void check(Properties artifact, Map<String, String> versions) {
    String group = artifact.getProperty("groupId");
    String name = artifact.getProperty("artifactId");
    // What Guava keeps apart has a version of its own.
    if (!group.equals("dev.cinch") && !name.equals("failureaccess")) {
      String known = PACKAGES.getOrDefault(name, PACKAGES.getOrDefault(group, group));
      String version =
          versions.entrySet().stream()
              .filter(v -> known.startsWith(v.getKey()) || v.getKey().endsWith("." + known))
              .max(Comparator.comparing(v -> v.getKey().length()))
              .map(Map.Entry::getValue)
              .orElse("none");
      String its = artifact.getProperty("version");
      // The annotations of Jackson 2.23.0 are 2.23.
      assertEquals(
          name.equals("jackson-annotations") ? its + ".0" : its, version, group + ":" + name);
    }
  }

  @Test
  void theLicenseIsThere() throws Exception {
    String license = Files.readString(Path.of("../LICENSE"), StandardCharsets.UTF_8);
    assertTrue(license.contains("Apache License\n") && license.contains("END OF TERMS"), license);
  }
}
