package dev.cinch.lease.bench;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessSigner;
import dev.cinch.lease.witness.WitnessVerifier;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.EdECPrivateKeySpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A witness signed, and its signature checked, against the JDK's own Ed25519 over the same bytes; a
 * witness decoded; and the service's table without signatures.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class LeaseMicro {
  private static final int SIGNATURE_BYTES = 64;
  private static final int NAMES = 100_000;
  private static final String X509_PREFIX = "302a300506032b6570032100";

  private final Random random = new Random(1);
  private WitnessSigner signer;
  private PublicKey key;
  private Witness witness;
  private byte[] signed;
  private byte[] payload;
  private byte[] signature;
  private PrivateKey jdkPrivate;
  private java.security.PublicKey jdkPublic;
  private ServiceInstance table;
  private Id held;
  private int next;

  /** Signs nothing, so that only the table is measured. */
  private static final class NoSigner implements GrantSigner {
    private final PublicKey key = SigningKey.ofSeed(new byte[32]).publicKey();
    private final byte[] nothing = {};

    @Override
    public List<SignedWitness> sign(List<Witness> witnesses) {
      return witnesses.stream().map(w -> new SignedWitness(w, nothing)).toList();
    }

    @Override
    public PublicKey publicKey() {
      return key;
    }
  }

  @Setup
  public void setUp() throws Exception {
    byte[] seed = new byte[32];
    random.nextBytes(seed);
    SigningKey signing = SigningKey.ofSeed(seed);
    signer = new WitnessSigner(signing);
    key = signing.publicKey();
    table = ServiceInstance.builder(new NoSigner(), SystemTime.INSTANCE).fresh(true).start();
    for (int i = 0; i < NAMES; i++) {
      held = table.acquire(request("held/" + i)).id();
    }
    witness = table.show(new LeaseName("held/7")).orElseThrow().witness();
    signed = signer.sign(witness).bytes();
    payload = Arrays.copyOf(signed, signed.length - SIGNATURE_BYTES);
    var keys = KeyFactory.getInstance("Ed25519");
    jdkPrivate = keys.generatePrivate(new EdECPrivateKeySpec(NamedParameterSpec.ED25519, seed));
    jdkPublic =
        keys.generatePublic(
            new X509EncodedKeySpec(
                ByteBuffer.allocate(44)
                    .put(HexFormat.of().parseHex(X509_PREFIX))
                    .put(key.bytes())
                    .array()));
    signature = signWithJdk();
  }

  private Operation.Acquire request(String name) {
    return new Operation.Acquire(
        Id.random(random), List.of(new LeaseName(name)), "bench", 60_000, LogSet.ALL, false);
  }

  @Benchmark
  public SignedWitness sign() {
    return signer.sign(witness);
  }

  @Benchmark
  public byte[] signWithJdk() throws GeneralSecurityException {
    var jdk = Signature.getInstance("Ed25519");
    jdk.initSign(jdkPrivate);
    jdk.update(payload);
    return jdk.sign();
  }

  @Benchmark
  public boolean verify() {
    return key.hasSigned(signature, payload);
  }

  @Benchmark
  public boolean verifyWithJdk() throws GeneralSecurityException {
    var jdk = Signature.getInstance("Ed25519");
    jdk.initVerify(jdkPublic);
    jdk.update(payload);
    return jdk.verify(signature);
  }

  @Benchmark
  public SignedWitness decode() throws WitnessException {
    return WitnessVerifier.decode(signed);
  }

  @Benchmark
  public Grant tableRenew() throws Exception {
    return table.renew(held, 60_000, LogSet.NONE, LeaseReport.NOTHING);
  }

  @Benchmark
  public Grant tableAcquireAndRelease() throws Exception {
    Grant grant = table.acquire(request("free/" + next++ % 1_000));
    table.release(grant.id(), LeaseReport.NOTHING);
    return grant;
  }
}
