"""A server and clients: made, and gone with this process."""
import os

import image
import layer as layers
import mounts
import network
import tsc
from machine import BOOT_SECONDS, Machine

APART = "/usr", "/opt"  # what machines need of the host may be filesystems of their own


class Lab:
    LEASE = 15  # seconds: of NFSv4 and its grace period

    def __init__(self, work, layer, clients, vers, squash, memory, delegations=True, kernel=None):
        self.work, self.layer, self.vers, self.memory = work, layer, vers, memory
        self.squash = "root_squash" if squash else "no_root_squash"
        self.delegations = int(delegations)
        self.names = ["server"] + [f"c{i + 1}" for i in range(clients)]
        self.kernel, self.base = layers.kernel(layer, kernel)
        self.root = os.path.join(work, "root")
        self.tsc = 0
        self.key = os.path.join(work, "key")
        self.machines = {name: Machine(name, 10 + i, self) for i, name in enumerate(self.names)}

    def up(self, seconds):
        """Boots all, each within so many seconds."""
        # In this process's own mount namespace, what machines see: each apart, as none need be in another's filesystem.
        for name, source in (("host", "/"), ("layer", self.layer), ("work", self.work)):
            mounts.bind(source, os.path.join(self.root, name))
        for path in APART:
            if os.path.ismount(path):
                mounts.bind(path, os.path.join(self.root, "host") + path)
        self.tsc = tsc.kilohertz()
        image.keys(self.work)
        self.initramfs = image.initramfs(self.work, self.kernel, self.base, self.layer)
        self.disk = image.disk(self.work)
        self.network = network.Network(self.names)
        self.boot(*self.names, seconds=seconds)

    def boot(self, *names, seconds=BOOT_SECONDS):
        for name in names:
            self.machines[name].start()
        for name in names:
            self.machines[name].await_up(seconds)

    @property
    def server(self):
        return self.machines["server"]

    @property
    def clients(self):
        return [self.machines[name] for name in self.names[1:]]

    def down(self):
        for machine in self.machines.values():
            machine.cut_power()
        mounts.unmount(self.work)
