package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * What a bucket's owner set there that a store meets. Each is asked with a request of its own,
 * which needs a right that nothing else does.
 */
@CheckReturnValue
public final class BucketSettings {
  private static final String ENABLED = "Enabled";

  private final S3Objects objects;

  public BucketSettings(S3Objects objects) {
    this.objects = objects;
  }

  /** Whether versions are kept: {@code Enabled}, {@code Suspended}; empty if they never were. */
  public Optional<String> versioning() throws IOException {
    return objects
        .setting("versioning", "VersioningConfiguration")
        .flatMap(xml -> xml.get("Status"));
  }

  /** Whether objects may be locked against deletion. */
  public boolean locksObjects() throws IOException {
    return objects
        .setting("object-lock", "ObjectLockConfiguration")
        .flatMap(xml -> xml.get("ObjectLockEnabled"))
        .filter(ENABLED::equals)
        .isPresent();
  }

  /**
   * The rules that delete objects of a store after a while.
   *
   * @param prefix of the store's keys
   * @return how they are called
   */
  public List<String> expirations(String prefix) throws IOException {
    return objects.setting("lifecycle", "LifecycleConfiguration").stream()
        .flatMap(xml -> xml.all("Rule").stream())
        .filter(rule -> deletes(rule) && concerns(rule, prefix))
        .map(rule -> rule.get("ID").filter(id -> !id.isEmpty()).orElse("one without a name"))
        .toList();
  }

  /** Rules may also delete old versions alone, or what a deletion leaves of them. */
  private static boolean deletes(Xml rule) {
    return rule.get("Status").filter(ENABLED::equals).isPresent()
        && rule.all("Expiration").stream()
            .anyMatch(when -> when.get("Days").or(() -> when.get("Date")).isPresent());
  }

  /** A rule is of objects with a prefix, and maybe of those alone that have tags: no store's do. */
  private static boolean concerns(Xml rule, String prefix) {
    List<Xml> filters =
        rule.all("Filter").stream()
            .map(filter -> filter.all("And").stream().findFirst().orElse(filter))
            .toList();
    boolean tagged = filters.stream().anyMatch(filter -> !filter.all("Tag").isEmpty());
    String begin =
        filters.stream()
            .flatMap(filter -> filter.get("Prefix").stream())
            .findFirst()
            .or(() -> rule.get("Prefix"))
            .orElse("");
    return !tagged && (begin.startsWith(prefix) || prefix.startsWith(begin));
  }
}
