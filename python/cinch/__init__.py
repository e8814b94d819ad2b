"""Logs and leases of Cinch, for programs in Python 3.9 and later.

    import cinch

    with cinch.Log("jobs", store="/mnt/shared/store") as log:
        log.append("hello")
        for message in log.read(live=True):
            print(message.time, message.text)

It runs the command ``cinch``, and needs nothing but Python's standard library. docs/python.md has examples, and says
which messages are in a log exactly once.
"""

from ._append import Receipt, Refused
from ._command import CinchError
from ._lease import Lease, LeaseLost
from ._log import Log
from ._logging import Handler
from ._read import AsyncMessages, Message

__all__ = [
    "AsyncMessages",
    "CinchError",
    "Handler",
    "Lease",
    "LeaseLost",
    "Log",
    "Message",
    "Receipt",
    "Refused",
]
__version__ = "0.1.0"
