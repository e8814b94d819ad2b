package dev.cinch.sim;

import dev.cinch.backup.Backup;
import dev.cinch.backup.BackupRefusedException;
import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.fs.MemoryFs;
import dev.cinch.bag.model.LogName;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimClock;
import java.io.IOException;
import java.nio.file.Path;

/** Makes backups on a disk of its own, and reads each as a reader reads the store. */
final class BackupActor extends Actor {
  private static final Path ROOT = Path.of("/backup");

  private final MemoryFs disk;

  BackupActor(World world, Rng rng) {
    super(world, rng);
    this.disk =
        new MemoryFs(
            new JudgesTime(
                world.scheduler,
                new SimMachine(
                    "backup",
                    0,
                    world.scheduler,
                    new SimClock(0, SimClock.EPOCH, 1),
                    new SimClock(0, 0, 1))));
    this.left = Math.min(left, 6);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      try {
        Backup.Result done = new Backup(store, disk.view(0), ROOT, files -> {}).run();
        me.note("copied " + done.files());
        read(me, done);
        for (Backup.Problem p : done.problems()) {
          if (p.why() instanceof IOException e) {
            tolerate(me, calm, e);
          }
        }
      } catch (BackupRefusedException e) {
        world.history.violation(me + " was refused: " + e.getMessage());
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      wait(me);
    }
  }

  private void read(SimProcess me, Backup.Result done) throws IOException {
    var here =
        new Store.Environment(
            disk.view(0), me.environment().machine(), me, new Rng(world.plan.seed()));
    if (done.problems().isEmpty()) {
      StoreVerifier.verify(
          ROOT,
          here,
          finding -> {
            if (finding.severity() == Severity.DAMAGE) {
              world.history.violation(me + " verified its backup: " + finding);
            }
          });
    }
    Store copy = Store.open(ROOT, here);
    for (int index = 0; index < world.plan.logs(); index++) {
      LogName name = Workbench.log(index);
      if (!done.through().containsKey(name)) {
        continue;
      }
      Log log = copy.log(name);
      var scan = new Scan(world.history, index, world.plan);
      long to = log.reader().settled(Long.MIN_VALUE, Long.MAX_VALUE, true, scan, scan);
      long floor = world.plan.expiring() ? log.reader().expired() : Long.MIN_VALUE;
      world.history.views.add(
          new History.View(me + " by its backup", index, floor, to, scan.ids(), scan.times()));
    }
  }
}
