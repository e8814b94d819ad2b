"""A server and clients: made, and gone with this process."""
import os

import image
import network
import packages
import tsc
from machine import BOOT_SECONDS, Machine
from places import command


class Lab:
    LEASE = 15  # seconds: of NFSv4 and its grace period

    def __init__(self, work, clients, vers, squash, memory, delegations=True, kernel=None):
        self.work, self.vers, self.memory = work, vers, memory
        self.squash = "root_squash" if squash else "no_root_squash"
        self.delegations = int(delegations)
        self.names = ["server"] + [f"c{i + 1}" for i in range(clients)]
        self.kernel = kernel or packages.kernels()[-1]
        self.root = os.path.join(work, "root")
        self.bound, self.tsc = False, 0
        self.key = os.path.join(work, "key")
        self.machines = {name: Machine(name, 10 + i, self) for i, name in enumerate(self.names)}

    def up(self, seconds):
        """Boots all, each within so many seconds."""
        # In this process's own mount namespace: the host's root as machines see it.
        os.mkdir(self.root)
        command("mount", "--bind", "/", self.root)
        self.bound = True
        command("mount", "-o", "remount,bind,ro", self.root)
        self.tsc = tsc.kilohertz()
        image.keys(self.work)
        self.initramfs = image.initramfs(self.work, self.kernel)
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
        if self.bound:
            # Or else whoever removes the work directory would go through the host's root (ismount knows no bind mounts).
            command("umount", self.root)
            os.rmdir(self.root)
