package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Who is tried when, against leases that are a map from names to holders. */
final class QueuesTest {
  private static final List<LeaseName> NAMES =
      List.of(new LeaseName("a"), new LeaseName("b"), new LeaseName("c"));

  /** A request and what it wants. */
  private static final class Want extends Queues.Waiter {
    final List<LeaseName> names;
    final int number;
    boolean gone;

    Want(int number, List<LeaseName> names) {
      this(number, new Id(1, number), names);
    }

    Want(int number, Id id, List<LeaseName> names) {
      super(id, number);
      this.number = number;
      this.names = names;
    }
  }

  /**
   * What became of a try.
   *
   * @param held what it was refused for; empty if it was granted
   */
  private record Outcome(Want want, Optional<LeaseName> held) {}

  /** Leases whose holders come and go, and those who wait for them. */
  private static final class World {
    final Queues<Want> queues = new Queues<>();
    final Map<LeaseName, Want> holders = new HashMap<>();

    /** Tries that were told and whose outcome is not known, the oldest first. */
    final ArrayDeque<Want> tries = new ArrayDeque<>();

    /** What became of tries, which the queues have not been told of. */
    final ArrayDeque<Outcome> outcomes = new ArrayDeque<>();

    /** Names that were freed, which the queues have not been told of. */
    final ArrayDeque<LeaseName> freed = new ArrayDeque<>();

    final List<Integer> granted = new ArrayList<>();
    final List<Want> known = new ArrayList<>();

    void come(List<LeaseName> names) {
      come(new Want(known.size(), names));
    }

    /** One that was there before, as another request with its id. */
    void comeBack(Want before) {
      if (before.at().isEmpty() && !holders.containsValue(before) && !isThere(before.id())) {
        come(new Want(before.number, before.id(), before.names));
      }
    }

    private boolean isThere(Id id) {
      return tries.stream().anyMatch(w -> w.id().equals(id))
          || outcomes.stream().anyMatch(o -> o.want().id().equals(id))
          || queues.copy(id).isPresent();
    }

    private void come(Want want) {
      List<LeaseName> names = want.names;
      known.add(want);
      Optional<LeaseName> taken = queues.taken(names);
      if (taken.isPresent()) {
        tries.addAll(queues.join(want, taken.get()));
      } else {
        tries.add(want);
      }
    }

    /** What the table says to one try; the queues hear of it later. */
    void decide() {
      Want want = tries.remove();
      Optional<LeaseName> held =
          want.names.stream().sorted().filter(holders::containsKey).findFirst();
      if (held.isEmpty()) {
        want.names.forEach(name -> holders.put(name, want));
        granted.add(want.number);
      }
      outcomes.add(new Outcome(want, held));
    }

    void hear() {
      Outcome outcome = outcomes.remove();
      Want want = outcome.want();
      if (want.gone) {
        return;
      }
      if (outcome.held().isEmpty()) {
        tries.addAll(queues.leave(want));
      } else if (want.at().isPresent()) {
        tries.addAll(queues.held(want, outcome.held().get()));
      } else {
        tries.addAll(queues.join(want, outcome.held().get()));
      }
    }

    void free(LeaseName name) {
      Want holder = holders.get(name);
      if (holder != null) {
        holders.values().removeIf(h -> h == holder);
        freed.addAll(holder.names);
      }
    }

    void tell() {
      if (!freed.isEmpty()) {
        tries.addAll(queues.freed(freed.remove()));
      }
    }

    void goAway(Want want) {
      if (want.at().isPresent()) {
        want.gone = true;
        queues.mayComeBack(want);
        tries.remove(want);
        tries.addAll(queues.leave(want));
      }
    }

    /** What is left to happen by itself happens: then nobody waits for what is free. */
    void settle() {
      while (!tries.isEmpty() || !freed.isEmpty() || !outcomes.isEmpty()) {
        if (!outcomes.isEmpty()) {
          hear();
        } else if (tries.isEmpty()) {
          tell();
        } else {
          decide();
        }
      }
      for (Want want : known) {
        want.at()
            .ifPresent(
                name ->
                    assertTrue(
                        holders.containsKey(name), () -> want.number + " waits for free " + name));
      }
    }
  }

  /** What a world may do next, by a number below 7. */
  private static void step(World world, int what, int which, List<LeaseName> names) {
    switch (what) {
      case 0 -> world.come(names);
      case 1 -> {
        if (!world.tries.isEmpty()) {
          world.decide();
        }
      }
      case 2 -> {
        if (!world.outcomes.isEmpty()) {
          world.hear();
        }
      }
      case 3 -> world.free(names.get(0));
      case 4 -> world.tell();
      case 5 -> {
        if (!world.known.isEmpty()) {
          world.comeBack(world.known.get(which % world.known.size()));
        }
      }
      default -> {
        if (!world.known.isEmpty()) {
          world.goAway(world.known.get(which % world.known.size()));
        }
      }
    }
  }

  @Test
  void everyShortOrderOfEventsLosesNoWakeUp() {
    List<LeaseName> one = List.of(NAMES.get(0));
    int steps = 7;
    int orders = (int) Math.pow(7, steps);
    for (int order = 0; order < orders; order++) {
      var world = new World();
      int left = order;
      for (int i = 0; i < steps; i++, left /= 7) {
        step(world, left % 7, 0, one);
      }
      world.settle();
    }
  }

  @Test
  void randomOrdersOfRequestsForSeveralNamesLoseNoWakeUp() {
    for (int seed = 0; seed < 20_000; seed++) {
      var random = new Random(seed);
      var world = new World();
      for (int i = 0; i < 40; i++) {
        var names = new ArrayList<LeaseName>(NAMES);
        Collections.shuffle(names, random);
        step(
            world,
            random.nextInt(7),
            random.nextInt(1_000),
            names.subList(0, 1 + random.nextInt(3)));
      }
      world.settle();
      // With everybody served: nothing is left behind.
      for (int i = 0; i < 100 && world.queues.size() > 0; i++) {
        NAMES.forEach(world::free);
        world.settle();
      }
      assertEquals(0, world.queues.size(), "seed " + seed);
      NAMES.forEach(name -> assertFalse(world.queues.isWaitedFor(name)));
    }
  }

  @Test
  void whoCameFirstIsServedFirstAndOneReleaseTriesOne() {
    var world = new World();
    List<LeaseName> a = List.of(NAMES.get(0));
    for (int i = 0; i < 100; i++) {
      world.come(a);
      world.settle();
    }
    for (int i = 0; i < 99; i++) {
      world.free(NAMES.get(0));
      world.tell();
      assertEquals(1, world.tries.size());
      world.come(a); // finds the name free, but somebody's turn
      assertEquals(1, world.tries.size());
      world.settle();
      assertEquals(i + 2, world.granted.size());
    }
    assertEquals(world.granted.stream().sorted().toList(), world.granted);
  }

  /** A wait that is longer than one request may be is a chain of them. */
  @Test
  void whoComesBackHasThePlaceThatItHad() {
    var world = new World();
    List<LeaseName> a = List.of(NAMES.get(0));
    for (int i = 0; i < 4; i++) {
      world.come(a);
      world.settle();
    }
    Want first = world.known.get(1);
    world.goAway(first);
    world.settle();
    world.come(a);
    world.settle();
    world.comeBack(first);
    world.settle();
    for (int i = 0; i < 5; i++) {
      world.free(NAMES.get(0));
      world.settle();
    }
    assertEquals(List.of(0, 1, 2, 3, 4), world.granted);
  }

  /** It came before those who wait for the name that it meets next. */
  @Test
  void aRequestForSeveralNamesStandsByItsNumberInEachQueue() {
    var world = new World();
    List<LeaseName> a = List.of(NAMES.get(0));
    List<LeaseName> b = List.of(NAMES.get(1));
    for (List<LeaseName> names : List.of(a, b, List.of(NAMES.get(0), NAMES.get(1)), b, b)) {
      world.come(names);
      world.settle();
    }
    world.free(NAMES.get(0));
    world.settle(); // the third finds b held
    world.free(NAMES.get(1));
    world.settle();
    assertEquals(List.of(0, 1, 2), world.granted);
  }

  @Test
  void oneThatGoesAwayWhileItIsTriedGivesItsTurnToTheNext() {
    var world = new World();
    List<LeaseName> a = List.of(NAMES.get(0));
    for (int i = 0; i < 3; i++) {
      world.come(a);
      world.settle();
    }
    world.free(NAMES.get(0));
    world.tell();
    world.goAway(world.known.get(1));
    world.settle();
    assertEquals(List.of(0, 2), world.granted);
  }
}
