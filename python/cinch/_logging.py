"""Records of Python's logging as messages of a log."""

from __future__ import annotations

import json
import logging
from typing import Any, Dict, Optional, Union

from ._log import Log
from ._read import key

# What each record has. The rest is of extra=.
_USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class Handler(logging.Handler):
    """Appends each record as a line of JSON.

    It has "id", "level", "logger", "message", "pathname", "lineno" and "funcName" of the call, "exception" and "stack"
    if there is one, and the fields of ``extra=``. A field that has one of these names is in "extra" instead.

    The message's time is the store's. ``extra={"id": …}`` of a call, text or a number, names its message. ``flush``
    waits until all that was logged is in the log, and raises if it is not; so does ``close``, which closes the log, too.
    """

    def __init__(self, log: Log, level: Union[int, str] = logging.NOTSET) -> None:
        super().__init__(level)
        self.log = log

    def setFormatter(self, fmt: Optional[logging.Formatter]) -> None:
        """A text of one's own; what basicConfig gives each handler is left out, since all of it has members here."""
        if getattr(fmt, "_fmt", None) != logging.BASIC_FORMAT:
            super().setFormatter(fmt)

    def handle(self, record: logging.LogRecord) -> Any:
        """As every handler, without its lock: a callback that logs would wait for one that waits for callbacks."""
        passed = self.filter(record)
        if passed:
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return passed

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.log.submit(self._message(record), _id(record))
        except Exception as e:
            self.log._now().failed(e)  # handleError may say nothing, and the program goes on
            self.handleError(record)

    def _message(self, record: logging.LogRecord) -> Dict[str, Any]:
        message: Dict[str, Any] = {"level": record.levelname, "logger": record.name}
        if self.formatter is not None:
            message["message"] = self.format(record)
        else:
            message["message"] = record.getMessage()
            if record.exc_info:
                message["exception"] = logging.Formatter().formatException(record.exc_info)
            if record.stack_info:
                message["stack"] = record.stack_info
        message.update(pathname=record.pathname, lineno=record.lineno, funcName=record.funcName)
        taken = {"id", "exception", "stack", "extra", *message}
        aside: Dict[str, Any] = {}
        for name, value in vars(record).items():
            if name not in _USUAL and not (name == "id" and _id(record) is not None):
                (aside if name in taken else message)[name] = _plain(value)
        if aside:
            message["extra"] = aside
        return message

    def flush(self) -> None:
        self.log.flush()

    def close(self) -> None:
        try:
            self.log.close()
        finally:
            super().close()


def _id(record: logging.LogRecord) -> Any:
    id = getattr(record, "id", None)
    return None if key(id) is None else id


def _plain(value: Any) -> Any:
    """As JSON has it; text where JSON has nothing like it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except (TypeError, ValueError, RecursionError):
        return repr(value)
