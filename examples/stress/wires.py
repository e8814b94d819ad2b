"""A network between namespaces of this machine, whose packets pass through here: lost, doubled, delayed or cut off at will.

Each namespace has a TUN device of which the other end is a descriptor here. So it needs no netem and no packet filter in
the kernel, and a fault begins and ends between two packets.
"""
import contextlib
import fcntl
import heapq
import os
import select
import struct
import threading
import time

from places import Skip, command, need, need_root

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
NETWORK = "10.79.0."
LARGEST = 65536


class Weather:
    """What happens to packets: shares of them, and pairs (from, to) of ends that do not reach each other."""

    def __init__(self, loss=0.0, duplicate=0.0, reorder=0.0, cut=()):
        self.loss, self.duplicate, self.reorder = loss, duplicate, reorder
        self.cut = frozenset(cut)


class Wires:
    MOST_DELAY = 0.03  # seconds

    def __init__(self, ends, rng):
        """ends: numbers of 1 to 254, which are the last part of their addresses, too."""
        need_root("a network namespace")
        need("ip")
        if not os.path.exists("/dev/net/tun"):
            raise Skip("there is no /dev/net/tun")
        self.rng = rng
        self.prefix = f"cinch{os.getpid()}-"
        self.weather = Weather()
        self.counts = dict.fromkeys(("passed", "lost", "cut", "doubled", "delayed"), 0)
        self.fds, self.late, self.made, self.number = {}, [], [], 0
        try:
            for end in ends:
                self.make(end)
        except OSError as e:
            self.close()
            raise Skip(f"network namespaces can't be made: {e}") from e
        self.stop, self.stopping = os.pipe()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def make(self, end):
        space, device = self.space(end), f"ct{os.getpid() % 1000000}-{end}"
        command("ip", "netns", "add", space)
        self.made.append(space)
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self.fds[end] = fd
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
        command("ip", "link", "set", device, "netns", space)
        command("ip", "-n", space, "addr", "add", self.address(end) + "/24", "dev", device)
        command("ip", "-n", space, "link", "set", "lo", "up")
        command("ip", "-n", space, "link", "set", device, "up")

    def space(self, end):
        return f"{self.prefix}{end}"

    @staticmethod
    def address(end):
        return f"{NETWORK}{end}"

    def run(self):
        ends = {fd: end for end, fd in self.fds.items()}
        while True:
            wait = max(0.0, self.late[0][0] - time.monotonic()) if self.late else None
            ready, _, _ = select.select([self.stop, *ends], [], [], wait)
            if self.stop in ready:
                return
            for fd in ready:
                with contextlib.suppress(BlockingIOError):
                    for _ in range(64):
                        self.take(ends[fd], os.read(fd, LARGEST))
            while self.late and self.late[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(self.late)
                self.put(target, packet)

    def take(self, source, packet):
        target = self.fds.get(packet[19]) if len(packet) >= 20 and packet[0] >> 4 == 4 else None
        if target is None:
            return  # IPv6 looks for its neighbours
        weather = self.weather
        if (source, packet[19]) in weather.cut:
            self.counts["cut"] += 1
            return
        if self.rng.random() < weather.loss:
            self.counts["lost"] += 1
            return
        if self.rng.random() < weather.duplicate:
            self.counts["doubled"] += 1
            self.later(target, packet)
        if self.rng.random() < weather.reorder:
            self.counts["delayed"] += 1
            self.later(target, packet)
        else:
            self.put(target, packet)

    def later(self, target, packet):
        self.number += 1
        heapq.heappush(self.late, (time.monotonic() + self.rng.random() * self.MOST_DELAY, self.number, target, packet))

    def put(self, target, packet):
        try:
            os.write(target, packet)
            self.counts["passed"] += 1
        except OSError:
            self.counts["lost"] += 1  # the queue of the device is full

    def close(self):
        if hasattr(self, "thread"):
            os.write(self.stopping, b".")
            self.thread.join()
            os.close(self.stop)
            os.close(self.stopping)
        for fd in self.fds.values():
            os.close(fd)
        for space in self.made:
            with contextlib.suppress(OSError):
                command("ip", "netns", "del", space)
