package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.protobuf.ByteString;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.time.SystemTime;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.PutRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;

/**
 * How many changes a second a register makes on a real etcd, beside plain puts through the same
 * connections. Usage: EtcdRates DIRECTORY [ROUNDS [MILLIS]].
 */
final class EtcdRates {
  private static final byte[] VALUE = new byte[300];

  private EtcdRates() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 5;
    long millis = args.length > 2 ? Long.parseLong(args[2]) : 2_000;
    Path dir = Files.createTempDirectory(Path.of(args[0]), "etcd-rates");
    try (EtcdCell etcd = EtcdCell.start(dir, 1);
        EtcdRegister register =
            EtcdRegister.of(
                EtcdCluster.at(etcd.endpoints()),
                "rates",
                60_000,
                SystemTime.INSTANCE,
                new Random())) {
      for (int callers : new int[] {1, 64}) {
        var puts = new ArrayList<Double>();
        var changes = new ArrayList<Double>();
        for (int round = -1; round < rounds; round++) { // the first one warms up
          double put = rate(callers, millis, i -> put(register, i));
          double change = rate(callers, millis, i -> change(register, i));
          if (round >= 0) {
            puts.add(put);
            changes.add(change);
          }
        }
        System.out.printf(
            "%d callers: %s puts a second, %s changes a second%n",
            callers, range(puts), range(changes));
      }
    }
  }

  private static CompletableFuture<?> put(EtcdRegister register, int caller) {
    var put =
        PutRequest.newBuilder()
            .setKey(ByteString.copyFrom("plain/" + caller, US_ASCII))
            .setValue(ByteString.copyFrom(VALUE))
            .build();
    return register
        .calls()
        .post(KVGrpc.getPutMethod(), put, register.calls().now() + EtcdRegister.PATIENCE_NANOS);
  }

  private static CompletableFuture<?> change(EtcdRegister register, int caller) {
    return register.change(new LeaseName("n" + caller), found -> Optional.of(VALUE));
  }

  /** Each caller asks again when it is answered. */
  private static double rate(int callers, long millis, IntFunction<CompletableFuture<?>> call) {
    var done = new LongAdder();
    long start = System.nanoTime();
    long end = start + millis * 1_000_000;
    var running = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < callers; i++) {
      var finished = new CompletableFuture<Void>();
      running.add(finished);
      next(i, call, end, done, finished);
    }
    running.forEach(CompletableFuture::join);
    return done.sum() * 1e9 / (System.nanoTime() - start);
  }

  private static void next(
      int caller,
      IntFunction<CompletableFuture<?>> call,
      long end,
      LongAdder done,
      CompletableFuture<Void> finished) {
    if (System.nanoTime() >= end) {
      finished.complete(null);
      return;
    }
    var unused =
        call.apply(caller)
            .whenCompleteAsync(
                (answer, broken) -> {
                  if (broken != null) {
                    finished.completeExceptionally(broken);
                  } else {
                    done.increment();
                    next(caller, call, end, done, finished);
                  }
                });
  }

  private static String range(List<Double> rates) {
    double[] sorted = rates.stream().mapToDouble(r -> r).sorted().toArray();
    return "%.0f (%.0f to %.0f)"
        .formatted(sorted[sorted.length / 2], sorted[0], Arrays.stream(sorted).max().orElse(0));
  }
}
