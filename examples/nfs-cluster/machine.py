"""One virtual machine: booted, frozen, cut off from power, its clock moved; commands run in it by ssh."""
import os
import re
import shlex
import signal
import socket
import subprocess
import threading
import time

from fleet import die_with_parent

BOOT_SECONDS = 240
CLOCK_GOOD = 0.2  # seconds; stores of this test allow 1
SSH = (
    "ssh -q -F none -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o BatchMode=yes"
    " -o ConnectTimeout=15 -o ControlMaster=no"
).split()


def kvm():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        flags = re.search(r"^flags\s.*\b(vmx|svm)\b", f.read(), re.MULTILINE)
    return bool(flags) and os.access("/dev/kvm", os.W_OK)


class Slow(OSError):
    """A machine that does not fail, but is not up in time."""


class Machine:
    def __init__(self, name, number, lab):
        self.name, self.number, self.lab = name, number, lab
        self.path = os.path.join(lab.work, name)
        self.vm = self.files = self.link = None

    def start(self):
        """Switches it on; await_up waits."""
        # The console too: what it said when the machine was up before must not be taken for news.
        for old in (".sock", ".monitor", ".ssh", ".console"):
            if os.path.exists(self.path + old):
                os.remove(self.path + old)
        self.files = self.child(
            ["/usr/lib/qemu/virtiofsd", f"--socket-path={self.path}.sock", "-o", f"source={self.lab.root}"]
            + "-o cache=always -o timeout=1 -o sandbox=chroot -o log_level=err".split(),
            "files",
        )
        end = time.monotonic() + 10
        while not os.path.exists(self.path + ".sock"):
            if time.monotonic() > end:
                raise OSError(f"{self.name}: virtiofsd does not start, see {self.path}.files.log")
            time.sleep(0.02)
        accelerator = ["-accel", "kvm", "-cpu", "host"] if kvm() else ["-accel", "tcg", "-cpu", "max,-avx,-avx2"]
        memory = self.lab.memory
        words = {
            "NAME": self.name, "NUMBER": self.number, "WORK": self.lab.work, "MACHINES": ",".join(self.lab.names),
            "VERS": self.lab.vers, "SQUASH": self.lab.squash, "LEASE": self.lab.LEASE,
            "DELEGATIONS": self.lab.delegations,
        }  # fmt: skip
        line = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check tsc=reliable clocksource=tsc "
        line += f"tsc_early_khz={self.lab.tsc} "
        line += " ".join(f"LAB_{k}={v}" for k, v in words.items())
        arguments = ["qemu-system-x86_64", "-name", self.name, *accelerator, "-smp", "2", "-m", str(memory)]
        arguments += ["-object", f"memory-backend-memfd,id=mem,size={memory}M,share=on", "-numa", "node,memdev=mem"]
        arguments += ["-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{self.path}.console"]
        arguments += ["-monitor", f"unix:{self.path}.monitor,server,nowait", "-device", "virtio-rng-pci"]
        arguments += ["-kernel", f"{self.lab.base}/boot/vmlinuz-{self.lab.kernel}", "-initrd", self.lab.initramfs, "-append", line]
        arguments += ["-chardev", f"socket,id=fs,path={self.path}.sock", "-device", "vhost-user-fs-pci,chardev=fs,tag=root"]
        for i, bridge in enumerate("dc"):
            arguments += ["-netdev", f"tap,id={bridge},ifname={self.name}-{bridge},script=no,downscript=no"]
            arguments += ["-device", f"virtio-net-pci,netdev={bridge},mac=52:54:00:78:0{i}:{self.number:02x}"]
        if self.name == "server":
            # Only the virtual machine loses power: what it wrote is in the host's memory, and need not be forced further.
            arguments += ["-drive", f"file={self.lab.disk},format=raw,if=virtio,cache=unsafe"]
        self.vm = self.child(arguments, "qemu")

    def child(self, arguments, name):
        with open(f"{self.path}.{name}.log", "ab") as log:
            return subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent
            )

    def await_up(self, seconds):
        end = time.monotonic() + seconds
        while True:
            console = self.console()
            if f"{self.name}: READY" in console:
                break
            if time.monotonic() > end or not self.goes_on(console):
                # What ended or failed is not slow, however late it is seen.
                kind, how = (Slow, f"is not up after {seconds} s") if self.goes_on(console) else (OSError, "does not boot")
                raise kind(f"{self.name} {how}, and its console's end is: {console.strip()[-300:]}")
            time.sleep(0.1)
        while not os.path.exists(self.path + ".ssh"):
            if self.link is None or self.link.poll() is not None:
                self.link = self.child([*SSH, "-M", "-S", self.path + ".ssh", "-i", self.lab.key, "-N", self.address()], "ssh")
            if time.monotonic() > end:
                raise Slow(f"{self.name}: no ssh after {seconds} s, see {self.path}.ssh.log")
            time.sleep(0.2)
        self.right_clock()

    def goes_on(self, console):
        """Booting, so far."""
        return self.vm.poll() is None and self.files.poll() is None and "FAILED" not in console and "Kernel panic" not in console

    def console(self):
        try:
            with open(self.path + ".console", encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def address(self):
        return f"root@10.78.1.{self.number}"

    def shell(self, line):
        """Arguments of a process that runs a shell's line in it."""
        return [*SSH, "-S", self.path + ".ssh", "-i", self.lab.key, self.address(), line]

    def run(self, *arguments, timeout=120):
        """What a command prints, if it succeeds."""
        done = subprocess.run(self.shell(shlex.join(arguments)), capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise OSError(f"{self.name}: {shlex.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def clock_ahead(self):
        """How far its clock is ahead of the host's, in seconds; wrong by no more than half of the fastest answer's time."""
        child = subprocess.Popen(
            self.shell("while read -r _; do date +%s.%N; done"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=die_with_parent
        )
        end = threading.Timer(120, child.kill)
        end.start()
        try:
            tries = []
            for _ in range(10):
                before = time.time()
                child.stdin.write(b"\n")
                child.stdin.flush()
                there, after = child.stdout.readline(), time.time()
                if not there:
                    raise OSError(f"{self.name} does not say what time it is")
                tries.append((after - before, float(there) - (before + after) / 2))
            return min(tries)[1]
        finally:
            # By itself: sessions that begin after one was killed are sometimes refused, and end with 255.
            child.stdin.close()
            child.wait()
            end.cancel()

    def move_clock(self, seconds):
        self.run("date", "-s", f"now {seconds:+.3f} seconds")

    def right_clock(self):
        for _ in range(5):
            ahead = self.clock_ahead()
            if abs(ahead) < CLOCK_GOOD:
                return
            self.move_clock(-ahead)
        raise OSError(f"{self.name}: its clock can't be set right, and was {ahead:.2f} s ahead")

    def freeze(self):
        """Its clocks go on, as in a long pause of its host's scheduler."""
        self.vm.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.vm.send_signal(signal.SIGCONT)

    def suspend(self):
        """Its clocks stop too."""
        self.monitor("stop")
        if b"VM status: paused" not in self.monitor("info status"):
            raise OSError(f"{self.name} did not stand still")

    def resume(self):
        self.monitor("cont")

    def monitor(self, line):
        """What QEMU answers."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(self.path + ".monitor")
            self.prompt(s)
            s.sendall(line.encode() + b"\n")
            return self.prompt(s)

    def prompt(self, s):
        seen = b""
        while b"(qemu)" not in seen:
            part = s.recv(4096)
            if not part:
                raise OSError(f"{self.name}: QEMU's monitor ended, and said: {seen.decode('utf-8', 'replace')[-300:]}")
            seen += part
        return seen

    def cut_power(self):
        """The virtual machine is killed; so is what connects to it."""
        for child in (self.vm, self.files, self.link):
            if child is not None:
                child.kill()
                child.wait()
        self.vm = self.files = self.link = None
