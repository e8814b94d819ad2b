package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.storage.object.ObjectAddress;
import java.io.IOException;
import java.net.URI;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Where objects are. Immutable.
 *
 * @param name of the bucket
 * @param region for which requests are signed
 * @param base the bucket's address, without a slash at its end
 */
@CheckReturnValue
public record S3Bucket(String name, String region, URI base) {
  private static final Pattern REGION = Pattern.compile("[a-z0-9-]{1,64}");
  private static final String FIRST_REGION = "us-east-1";

  /**
   * Finds it as AWS's tools do: at the server of the address, or what the environment or the
   * profile says, and else at AWS.
   *
   * @throws IllegalArgumentException one line, if the endpoint or the region is none
   * @throws IOException if the profile's file can't be read
   */
  public static S3Bucket of(ObjectAddress address, Environment environment) throws IOException {
    String name = address.bucket();
    Profile profile = Profile.read(environment);
    String region =
        environment
            .get("AWS_REGION")
            .or(() -> environment.get("AWS_DEFAULT_REGION"))
            .or(() -> profile.get("region"))
            .orElse(FIRST_REGION);
    if (!REGION.matcher(region).matches()) {
      throw new IllegalArgumentException("AWS has no region '" + region + "'");
    }
    Optional<String> found =
        environment
            .get("AWS_ENDPOINT_URL_S3")
            .or(() -> environment.get("AWS_ENDPOINT_URL"))
            .or(() -> profile.get("endpoint_url"));
    Optional<URI> server = address.endpoint().or(() -> found.map(ObjectAddress::endpoint));
    if (server.isPresent()) {
      return new S3Bucket(name, region, URI.create(server.get() + "/" + name));
    }
    String aws = "s3." + region + ".amazonaws.com" + (region.startsWith("cn-") ? ".cn" : "");
    boolean dotted = name.contains("."); // no certificate is for such a host
    return new S3Bucket(
        name, region, URI.create("https://" + (dotted ? aws + "/" + name : name + "." + aws)));
  }

  /** Who is asked. */
  String server() {
    return base.getScheme() + "://" + base.getRawAuthority();
  }

  /** The address of an object. */
  URI object(String key) {
    return URI.create(base + "/" + Signer.encode(key, true));
  }

  /**
   * The address of a listing.
   *
   * @param query already written as in an address
   */
  URI listing(String query) {
    return URI.create(base + (base.getRawPath().isEmpty() ? "/?" : "?") + query);
  }

  /** An object, for people. */
  String named(String key) {
    return "s3://" + name + "/" + key;
  }
}
