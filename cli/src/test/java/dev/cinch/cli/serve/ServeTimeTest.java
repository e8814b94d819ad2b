package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.lease.time.RoughtimeServer;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code cinch serve}, asking servers whose clocks are right and wrong. */
@Timeout(600)
class ServeTimeTest {
  @TempDir Path temp;

  /** Three sources, of which one is wrong. */
  @Test
  void aLeaseServerKnowsHowFarOffItsTimeMayBe() throws Exception {
    Path store = Cinch.store(temp);
    try (RoughtimeServer right = RoughtimeServer.off(0);
        RoughtimeServer wrong = RoughtimeServer.off(3_600);
        Forked serving =
            Forked.serveHere(
                temp,
                store,
                "--time-source=store",
                "--time-source=roughtime:" + right.named(),
                "--time-source=roughtime:" + wrong.named())) {
      String uri = serving.listening();
      String problem = "roughtime:" + wrong.address() + " contradicts the others";
      assertEquals("cinch serve: time source: " + problem, serving.errLine());
      Cinch.Ran ran = Cinch.on(store).run("status", "--server=" + uri).ended(3);
      assertTrue(ran.out().contains("! the lease server's time sources: " + problem), ran.out());
      assertTrue(
          ran.out().matches("(?s).*\ntime    known to the lease server: ±\\d+ ms, measured\n.*"),
          ran.out());
    }
  }

  @Test
  void withoutSourcesTheBoundIsAssumed() throws Exception {
    Path store = Cinch.store(temp);
    try (Forked serving = Forked.serveHere(temp, store)) {
      String uri = serving.listening();
      Cinch.Ran ran = Cinch.on(store).run("status", "--server=" + uri).ended(0);
      assertTrue(ran.out().contains("\ntime    known to the lease server: ±1000 ms, assumed\n"));
    }
  }

  @Test
  void aClockThatItsSourcesContradictIsRefused() throws Exception {
    try (RoughtimeServer one = RoughtimeServer.off(0);
        RoughtimeServer two = RoughtimeServer.off(0)) {
      new Cinch()
          .run(
              "serve",
              "--port=0",
              "--first",
              "--key=" + temp.resolve("k"),
              "--clock-offset=-1h",
              "--time-source=roughtime:" + one.named(),
              "--time-source=roughtime:" + two.named())
          .failed(4, " min behind its time sources: set the clock (NTP)");
    }
  }
}
