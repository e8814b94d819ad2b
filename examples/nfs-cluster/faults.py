"""What befalls the first client, or the server."""
import time


class Fault:
    """Nothing. A fault that lapses lasts until another machine has taken over the first one's lease."""

    lapses = False
    reboots = False  # the first client: everything that ran there is gone
    stills = False  # nobody can append meanwhile
    silences = slice(0)  # on which clients, the victim first, nothing can be committed meanwhile

    def __init__(self, name, cluster):
        self.name = name
        self.cluster, self.lab = cluster, cluster.lab
        self.victim = self.lab.clients[0]

    def inject(self):
        pass

    def heal(self):
        pass


class Partition(Fault):
    """Nothing gets from the server to the client or back. The lease service can be reached: the lease goes on."""

    directions = ("in", "out")
    silences = slice(1)

    def inject(self):
        if "in" in self.directions:
            self.lab.network.cut("server", self.victim.name)
        if "out" in self.directions:
            self.lab.network.cut(self.victim.name, "server")

    def heal(self):
        self.lab.network.heal()


class PartitionIn(Partition):
    """The server does what it is asked, and none of its replies arrives."""

    directions = ("in",)


class PartitionOut(Partition):
    """What the client sends to the server does not arrive."""

    directions = ("out",)


class Isolate(Partition):
    """The client is cut off from all others, the lease service too."""

    lapses = True

    def inject(self):
        for other in self.lab.names:
            if other != self.victim.name:
                self.lab.network.cut(other, self.victim.name)
                self.lab.network.cut(self.victim.name, other)


class Freeze(Fault):
    """The client stands still past its lease; its clocks go on."""

    lapses = True
    silences = slice(1)

    def inject(self):
        self.victim.freeze()

    def heal(self):
        self.victim.thaw()
        if abs(self.victim.clock_ahead()) > 1:
            raise OSError("its clock stood still too, which is another fault")


class Suspend(Fault):
    """The client stands still past its lease, and its clocks too. A while after it woke, its wall clock is set."""

    lapses = True
    silences = slice(1)

    def inject(self):
        self.victim.suspend()

    def heal(self):
        self.victim.resume()
        time.sleep(8)
        self.victim.right_clock()


class Power(Fault):
    """The client loses power and is booted again."""

    lapses = True
    reboots = True

    def inject(self):
        self.victim.cut_power()
        self.cluster.lose(self.victim)

    def heal(self):
        self.lab.boot(self.victim.name)


class ClockAhead(Fault):
    """The client's wall clock is put off, and right again at the end."""

    seconds = 600

    def inject(self):
        self.victim.move_clock(self.seconds)

    def heal(self):
        off = self.victim.clock_ahead() - self.seconds
        if abs(off) > 60:
            raise OSError(f"its clock was not {self.seconds} s ahead, but {off:.0f} s more than that")
        self.victim.right_clock()


class ClockBehind(ClockAhead):
    """The same, back."""

    seconds = -600


class Server(Fault):
    """The server loses power and is booted again."""

    stills = True
    silences = slice(None)

    def inject(self):
        self.lab.server.cut_power()

    def heal(self):
        self.lab.boot("server")


class PartitionServer(Partition):
    """The server loses power and comes back while the client is cut off from it."""

    stills = True

    def inject(self):
        super().inject()
        self.lab.server.cut_power()
        self.lab.boot("server")


FAULTS = {
    "none": Fault,
    "partition": Partition,
    "partition-in": PartitionIn,
    "partition-out": PartitionOut,
    "isolate": Isolate,
    "freeze": Freeze,
    "suspend": Suspend,
    "power": Power,
    "clock-ahead": ClockAhead,
    "clock-behind": ClockBehind,
    "server": Server,
    "partition-server": PartitionServer,
}
SHORT = ("isolate",)
