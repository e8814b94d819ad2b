package dev.cinch.sim.mutation;

import static java.util.Locale.ROOT;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Which tests see a rule of replicated leases broken.
 *
 * <p>{@code CellMutant WORLDS STATES [NAME...]}: a row for each mutation, of the first test of a
 * rule, the number of worlds, and the number of states, that it took. Run it in {@code aggregator}.
 */
final class CellMutant {
  private static final String CELL = "dev.cinch.lease.cell.";
  private static final String REGISTER = "dev.cinch.lease.register.";

  private final Mutant mutant;

  /** Whether the rule is one of the register upon a cell. */
  private final boolean ofRegister;

  private CellMutant(Mutant mutant, boolean ofRegister) {
    this.mutant = mutant;
    this.ofRegister = ofRegister;
  }

  static CellMutant of(Mutation mutation) {
    try {
      return new CellMutant(
          Mutant.of(mutation, MutationTest.ROOT),
          mutation.edits().stream().anyMatch(e -> !e.source().contains("/lease/cell/")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String upper(String algorithm) {
    return algorithm.equals("Flease") ? "FLEASE" : "PAXOS_LEASE";
  }

  @Nullable String rule(String algorithm) {
    if (ofRegister) {
      return Stream.of(
              "instance.TrueTimeTest", "register.ForgottenTest", "register.OutbidReleaseTest")
          .map(test -> ruleTests(test))
          .filter(Objects::nonNull)
          .findFirst()
          .orElse(null);
    }
    String test = algorithm.equals("Flease") ? "flease." : "paxos.";
    return ruleTests("cell." + test + algorithm + "RulesTest");
  }

  private @Nullable String ruleTests(String test) {
    return (String) call(CELL + "RuleTests", test);
  }

  @Nullable String simulated(String algorithm, long worlds) {
    return (String) call(CELL + "sim.CellCampaign", upper(algorithm), worlds);
  }

  @Nullable String kept(String algorithm, long worlds) {
    return (String) call(REGISTER + "sim.RegisterCampaign", upper(algorithm), worlds);
  }

  @Nullable String explored(String algorithm, long states) {
    return (String) call(CELL + "explore.Exploration", upper(algorithm), states);
  }

  /** The first test that sees it, cheap ones first; none if none does. */
  List<String> seenBy(String algorithm, long worlds, long states) {
    for (int i = 0; i < 3; i++) {
      String seen =
          i == 0
              ? rule(algorithm)
              : ofRegister
                  ? kept(algorithm, worlds)
                  : i == 1 ? simulated(algorithm, worlds) : explored(algorithm, states);
      if (seen != null) {
        return List.of(seen);
      }
    }
    return List.of();
  }

  private @Nullable Object call(String type, Object... args) {
    try {
      Class<?>[] types = new Class<?>[args.length];
      for (int i = 0; i < args.length; i++) {
        types[i] = args[i] instanceof Long ? long.class : String.class;
      }
      return mutant.loadClass(type).getMethod("failure", types).invoke(null, args);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the tests of cells failed", e);
    }
  }

  public static void main(String[] args) throws IOException {
    long worlds = Long.parseLong(args[0]);
    long states = Long.parseLong(args[1]);
    List<String> wanted = List.of(args).subList(2, args.length);
    for (Mutation m : CellMutationTest.all()) {
      if (wanted.isEmpty() || wanted.contains(m.name())) {
        CellMutant mutant = of(m);
        var row = new ArrayList<String>(List.of(m.name(), m.rule(), m.what()));
        for (String algorithm : List.of("PaxosLease", "Flease")) {
          if (mutant.ofRegister) {
            row.add(brief(mutant.rule(algorithm)));
            row.add(brief(mutant.kept(algorithm, worlds)));
            continue;
          }
          row.add(brief(mutant.rule(algorithm)));
          row.add(brief(mutant.simulated(algorithm, worlds)));
          row.add(brief(mutant.explored(algorithm, states)));
        }
        System.out.println("| " + String.join(" | ", row) + " |");
      }
    }
  }

  /** With the whole of it on the error stream. */
  private static String brief(@Nullable String seen) {
    if (seen == null) {
      return "";
    }
    System.err.println(seen);
    boolean owners = seen.contains("two owners") || seen.contains("TwoOwners");
    String what =
        Character.isDigit(seen.charAt(0))
            ? seen.substring(0, seen.indexOf(':'))
            : Stream.of(seen.split(", "))
                .map(test -> test.contains("_") ? test.substring(0, 2).toUpperCase(ROOT) : "other")
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
    return what + (owners ? " (two owners)" : "");
  }
}
