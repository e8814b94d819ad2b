package dev.cinch.lease.witness;

import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Keys of a cell for tests, and what some of its nodes sign. Stateless. */
public final class Cells {
  private Cells() {}

  /** The key of a node, from 1. */
  public static SigningKey node(int node) {
    var seed = new byte[SigningKey.SEED_BYTES];
    Arrays.fill(seed, (byte) (100 + node));
    return SigningKey.ofSeed(seed);
  }

  /** A cell of so many nodes. */
  public static CellKeys of(long instance, int nodes) {
    return new CellKeys(
        instance, IntStream.rangeClosed(1, nodes).mapToObj(n -> node(n).publicKey()).toList());
  }

  /** A witness with the signatures of these nodes, however many they are. */
  public static SignedWitness signed(CellKeys cell, Witness witness, int... nodes) {
    return signed(cell, List.of(witness), nodes).get(0);
  }

  /** Several, each node signing them together. */
  public static List<SignedWitness> signed(CellKeys cell, List<Witness> witnesses, int... nodes) {
    List<byte[]> payloads = witnesses.stream().map(WitnessCodec::encode).toList();
    var by = new ArrayList<SortedMap<Integer, byte[]>>();
    payloads.forEach(payload -> by.add(new TreeMap<>()));
    for (int node : nodes) {
      List<byte[]> parts = new NodeSigner(node(node)).sign(payloads);
      for (int i = 0; i < parts.size(); i++) {
        by.get(i).put(node, parts.get(i));
      }
    }
    var signed = new ArrayList<SignedWitness>();
    for (int i = 0; i < payloads.size(); i++) {
      signed.add(
          new SignedWitness(
              witnesses.get(i), MajorityForm.join(payloads.get(i), cell.key(), by.get(i))));
    }
    return signed;
  }

  /** As a node that collects does; empty as long as they are too few. */
  static Optional<SignedWitness> collected(CellKeys cell, Witness witness, int... nodes) {
    var signatures = new CellKeys.CellSignatures(cell, witness);
    Optional<SignedWitness> done = Optional.empty();
    for (int node : nodes) {
      done =
          signatures.add(
              node, new NodeSigner(node(node)).sign(List.of(signatures.payload())).get(0));
    }
    return done;
  }
}
