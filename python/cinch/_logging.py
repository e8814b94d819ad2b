"""Records of Python's logging as messages of a log."""

import logging


class Handler(logging.Handler):
    """Appends each record as a line of JSON: "id", "level", "logger", "message", and "exception" if there is one.

    The message's time is the store's. ``extra={"id": …}`` of a call names its message. ``flush`` waits until all that
    was logged is in the log, and raises if it is not; so does ``close``, which closes the log, too.
    """

    def __init__(self, log, level=logging.NOTSET):
        super().__init__(level)
        self.log = log
        self._failed = None

    def setFormatter(self, fmt):
        """A text of one's own; what basicConfig gives each handler is left out, since all of it has members here."""
        if getattr(fmt, "_fmt", None) != logging.BASIC_FORMAT:
            super().setFormatter(fmt)

    def emit(self, record):
        try:
            message = {"level": record.levelname, "logger": record.name}
            if self.formatter is not None:
                message["message"] = self.format(record)
            else:
                message["message"] = record.getMessage()
                if record.exc_info:
                    message["exception"] = logging.Formatter().formatException(record.exc_info)
            self.log.submit(message, getattr(record, "id", None))
        except Exception as e:
            self._failed = self._failed or e  # handleError may say nothing, and the program goes on
            self.handleError(record)

    def flush(self):
        self.log.flush()
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def close(self):
        try:
            self.log.close()
            self.flush()
        finally:
            super().close()
