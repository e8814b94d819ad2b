package dev.cinch.bag.model;

import dev.cinch.lease.witness.StoreStatement;
import java.util.regex.Pattern;

/**
 * What of all that stands below a store's directory is the store's, by its name and place: the list
 * of directories in format.md. Everything else is somebody's, and nobody deletes it.
 */
public final class OwnPaths {
  private static final String NUMBER = "[0-9]{10}";
  private static final String TIME = "[0-9]{8}T[0-9]{6}[.][0-9]{3}Z";
  private static final String ID = "[0-9a-f]{32}";
  private static final String SHA = "[.][0-9a-f]{64}";
  private static final String NAME = "(?!tmp-)[a-z0-9][a-z0-9._-]{0,62}";
  private static final String SIGNED = "[.][0-9a-f]{" + StoreStatement.DIGITS + "}";
  private static final String LOG = "logs/" + NAME;
  private static final String HORIZON = LOG + "/horizon";
  private static final String GROUP = HORIZON + "/records/[0-9]{7}";

  /** Of those that look at a clock, or try out what the filesystem does. */
  private static final String PROBE = "(clock/)?tmp-" + ID;

  private static final Pattern DIRECTORIES =
      anyOf(
          "keys|limits|clock|logs|cuts",
          "service(/(instances|ends|revocations|ceilings))?",
          LOG + "(/buckets(/" + TIME + "){0,3}|/segments|/(table|latest)(/_delta_log)?)?",
          HORIZON + "(/records|/intents|/checkpoints|/notices)?|" + GROUP,
          PROBE + "(/tmp-[^/]*)?");

  private static final Pattern FILES =
      anyOf(
          "store[.]json([.](destroyed|next))?|(keys|limits)/" + NUMBER,
          "service/instances/"
              + NUMBER
              + "([+][0-9]{2}|(-"
              + NUMBER
              + "-[0-9]{4})?"
              + SIGNED
              + ")?",
          "service/instances/map-" + NUMBER + "(-[0-9]{4}" + SIGNED + ")?",
          "service/(ends|revocations)/" + ID + "@" + NUMBER + "([.][1-9][0-9]?)?",
          "service/ceilings/" + NUMBER + "([-+]-?[0-9]{1,19}|[+][0-9]{1,19}-[0-9a-f]{64})" + SIGNED,
          "cuts/(gone-" + NUMBER + "-)?" + NUMBER,
          LOG + "/(identity|removed)",
          LOG + "/buckets(/" + TIME + "){3}/(prelock|lock(-[0-9a-f]{64})?|[.]nfs[^/]*)",
          LOG + "/buckets(/" + TIME + "){3}/" + NAME + "-" + ID + "[.]log",
          GROUP + "/" + NUMBER + "(" + SHA + ")?",
          HORIZON + "/intents/(end|" + TIME + ")-" + ID,
          HORIZON + "/checkpoints/(floor-)?" + NUMBER,
          HORIZON + "/notices/" + NUMBER,
          LOG + "/segments/" + NUMBER,
          LOG + "/(table|latest)/(_delta_log/[0-9]{20}[.]json|[0-9]{20}-" + ID + "[.]parquet)",
          "(.*/)?tmp-" + ID,
          PROBE + "(/tmp-[^/]*)+");

  private OwnPaths() {}

  private static Pattern anyOf(String... shapes) {
    return Pattern.compile(String.join("|", shapes));
  }

  /**
   * Whether something is the store's, if all directories above it are.
   *
   * @param name from the store's directory
   * @param directory whether it is a directory; else a regular file
   */
  public static boolean has(String name, boolean directory) {
    return (directory ? DIRECTORIES : FILES).matcher(name).matches();
  }
}
