"""Two bridges in this process's own network namespace: one for NFS and leases, one for ssh."""
import subprocess

from places import command

RULES = """
table bridge cinch {
    set cut { type ifname . ifname; }
    chain forward { type filter hook forward priority 0; iifname . oifname @cut drop; }
}
"""


class Network:
    """Packets of one machine to another can be dropped silently; ssh always gets through."""

    def __init__(self, machines):
        command("ip", "link", "set", "lo", "up")
        for bridge in ("data", "control"):
            command("ip", "link", "add", bridge, "type", "bridge")
            command("ip", "link", "set", bridge, "up")
        command("ip", "addr", "add", "10.78.1.1/24", "dev", "control")
        subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)
        for machine in machines:
            for bridge in ("data", "control"):
                tap = f"{machine}-{bridge[0]}"
                command("ip", "tuntap", "add", tap, "mode", "tap")
                command("ip", "link", "set", tap, "master", bridge)
                command("ip", "link", "set", tap, "up")

    def cut(self, source, target):
        """Drops what the one sends to the other."""
        self.nft("add", f'"{source}-d" . "{target}-d"')

    def heal(self):
        command("nft", "flush", "set", "bridge", "cinch", "cut")

    def nft(self, what, element):
        command("nft", what, "element", "bridge", "cinch", "cut", "{ " + element + " }")
