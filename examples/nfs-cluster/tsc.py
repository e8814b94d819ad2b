"""How fast the processor's time stamp counter runs: it is the clock of the machines.

On a busy host a kernel that measures it while it boots may be wrong by half, and its clock then runs at another speed.
"""
import ctypes
import mmap
import time

READ = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
SECONDS = 0.2


def kilohertz():
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(READ)
        code = ctypes.c_char.from_buffer(page)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(code))
        first, first_ticks = at_once(read)
        time.sleep(SECONDS)
        last, last_ticks = at_once(read)
        del read, code
    return round((last_ticks - first_ticks) / (last - first) * 1e6)


def at_once(read):
    """The time in nanoseconds and the counter, the two of twenty that are closest together."""
    tries = ((time.monotonic_ns(), read(), time.monotonic_ns()) for _ in range(20))
    before, ticks, after = min(tries, key=lambda t: t[2] - t[0])
    return (before + after) / 2, ticks
