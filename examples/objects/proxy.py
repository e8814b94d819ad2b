#!/usr/bin/env python3
"""Stands before an object store and does to requests what networks and servers do; Python's standard library alone.

    proxy.py PORT UPSTREAM [UPSTREAM ...] [--seed S] [--rate R]

Takes requests on 127.0.0.1:PORT, 0 for any port that is free, and passes each to one of the ports UPSTREAM, at random.
Of all requests a share R, of PUT and DELETE three times as many, meets one of these:

    before     the connection is cut, and nothing is passed on
    after      it is passed on, and the connection is cut instead of an answer
    truncated  it is passed on, and half of the answer comes back
    late       the connection is cut, and a PUT or DELETE is passed on up to 8 s later
    delayed    it is passed on up to 2 s later, or its answer comes so much later
    doubled    a PUT or DELETE is passed on once more, up to 8 s later
    refused    409, 429, 500 or 503, and nothing is passed on
    wrong      it is passed on, and 500 or 503 is answered
    error      200 with an error in its body is answered to a PUT, and nothing is passed on

Prints "ready PORT". SIGUSR1: from now on all are passed on as they are. SIGTERM: waits for what is still to be passed
on, prints how many requests met what as one JSON object, and ends.
"""
import argparse
import collections
import http.client
import http.server
import json
import random
import signal
import socket
import threading
import time

PATIENCE = 60  # seconds for the object store
LONGEST_DELAY, LATEST = 2, 8
ANY = "before after truncated delayed refused wrong".split()
WHAT = {"PUT": [*ANY, "late", "doubled", "error"], "DELETE": [*ANY, "late", "doubled"]}
TOLD = "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{}</Code><Message>as asked for</Message></Error>"
CODES = {409: "ConditionalRequestConflict", 429: "TooManyRequests", 500: "InternalError", 503: "SlowDown"}


class Faults:
    """Draws what happens, and counts it. Thread-safe."""

    def __init__(self, upstreams, rate, seed):
        self.upstreams, self.rate = upstreams, rate
        self.rng = random.Random(seed)
        self.counts = collections.Counter()
        self.waiting = set()
        self.lock = threading.Lock()

    def draw(self, method):
        """What a request meets, or nothing; a number from 0 to 1 that says how long or how much; and where it goes."""
        with self.lock:
            what = None
            if self.rng.random() < self.rate * (3 if method in WHAT else 1):
                what = self.rng.choice(WHAT.get(method, ANY))
                self.counts[what] += 1
            self.counts["requests"] += 1
            return what, self.rng.random(), self.rng.choice(self.upstreams)

    def later(self, seconds, request):
        """Passes a request on, some time; nobody hears of its answer."""

        def go():
            time.sleep(seconds)
            try:
                status = ask(self.rng.choice(self.upstreams), *request)[0]
            except (OSError, http.client.HTTPException):
                status = "unanswered"
            with self.lock:
                self.counts[f"later {request[0]} {status}"] += 1
                self.waiting.discard(threading.current_thread())

        thread = threading.Thread(target=go)
        with self.lock:
            self.waiting.add(thread)
        thread.start()

    def settle(self):
        while self.waiting:
            time.sleep(0.05)


def ask(upstream, method, path, headers, body):
    """The status, headers and body that the object store answers."""
    connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()
    finally:
        connection.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults = None

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.request_as_sent = self.command, self.path, self.headers.items(), body
        what, how, upstream = self.faults.draw(self.command)
        if what == "late":
            self.faults.later(LATEST * how, self.request_as_sent)
        if what in ("before", "late"):
            self.cut()
            return
        if what in ("refused", "error"):
            status = 200 if what == "error" else list(CODES)[int(how * len(CODES))]
            self.tell(status, [], TOLD.format(CODES.get(status, "InternalError")).encode())
            return
        if what == "delayed" and how < 0.5:
            time.sleep(LONGEST_DELAY * 2 * how)
        try:
            status, headers, answer = ask(upstream, *self.request_as_sent)
        except (OSError, http.client.HTTPException):
            self.faults.counts["unanswered"] += 1
            self.cut()
            return
        if what == "delayed" and how >= 0.5:
            time.sleep(LONGEST_DELAY * (2 * how - 1))
        if what == "doubled":
            self.faults.later(LATEST * how**3, self.request_as_sent)  # at once most of the time
        if what == "wrong":
            status = (500, 503)[int(2 * how)]
            self.tell(status, [], TOLD.format(CODES[status]).encode())
        elif what == "after":
            self.cut()
        else:
            self.tell(status, headers, answer, half=what == "truncated")

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = pass_on

    def tell(self, status, headers, body, half=False):
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}"]
        names = [name.lower() for name, _ in headers]
        lines += [f"{name}: {value}" for name, value in headers if name.lower() not in ("transfer-encoding", "connection")]
        if "content-length" not in names and status != 204:
            lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join([*lines, "", ""]).encode("latin-1")
        if half:
            data = data + body[: len(body) // 2] if len(body) > 1 else data[: len(data) // 2]
            self.wfile.write(data)
            self.cut()
        else:
            self.wfile.write(data + body)

    def cut(self):
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # whoever asked was killed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("upstream", type=int, nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.05)
    given = parser.parse_args()
    faults = Handler.faults = Faults(given.upstream, given.rate, given.seed)
    Server.address_family = socket.AF_INET
    server = Server(("127.0.0.1", given.port), Handler)

    def calm(*_):
        faults.rate = 0

    signal.signal(signal.SIGUSR1, calm)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"ready {server.server_address[1]}", flush=True)
    server.serve_forever()
    faults.settle()
    print(json.dumps(faults.counts), flush=True)


if __name__ == "__main__":
    main()
