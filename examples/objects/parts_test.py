#!/usr/bin/env python3
"""The parts of the run that may hide something, each seen to do what it is for. Run: python3 parts_test.py"""
import http.client
import http.server
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import proxy  # noqa: E402

ANSWER = b"what there is"


class Upstream(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.met.append((self.path, self.headers["if-none-match"], body))
        self.send_response(200)
        self.send_header("content-length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_):
        pass


def serving(test, server):
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    test.addCleanup(server.server_close)
    test.addCleanup(thread.join)
    test.addCleanup(server.shutdown)
    return server.server_address[1]


class ProxyTest(unittest.TestCase):
    def setUp(self):
        upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
        self.met = upstream.met = []
        self.upstream = serving(self, upstream)
        self.faults = proxy.Faults([self.upstream], 0, 1)
        patched = mock.patch.object(proxy.Handler, "faults", self.faults)
        patched.start()
        self.addCleanup(patched.stop)
        self.port = serving(self, proxy.Server(("127.0.0.1", 0), proxy.Handler))

    def put(self, what):
        """Puts something, which meets a fault: the status and the body of the answer, nothing if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.addCleanup(connection.close)
        with mock.patch.object(self.faults, "draw", lambda _: (what, 0.001, self.upstream)):
            try:
                connection.request("PUT", "/a%20b?c", b"body", {"if-none-match": "*"})
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                return None
            finally:
                self.faults.settle()

    def test_what_meets_no_fault_is_passed_on_as_it_is(self):
        self.assertEqual((200, ANSWER), self.put(None))
        self.assertEqual([("/a%20b?c", "*", b"body")], self.met)

    def test_what_arrives_how_often(self):
        arrived = {"before": 0, "after": 1, "truncated": 1, "late": 1, "delayed": 1, "doubled": 2, "refused": 0, "wrong": 1}
        for what, times in {**arrived, "error": 0}.items():
            with self.subTest(what):
                self.met.clear()
                self.put(what)
                self.assertEqual([("/a%20b?c", "*", b"body")] * times, self.met)

    def test_what_is_answered(self):
        for what in ("before", "after", "late", "truncated"):
            self.assertIsNone(self.put(what), what)
        self.assertEqual((200, ANSWER), self.put("doubled"))
        self.assertEqual((200, ANSWER), self.put("delayed"))
        self.assertEqual(409, self.put("refused")[0])
        self.assertEqual(500, self.put("wrong")[0])
        status, body = self.put("error")
        self.assertEqual(200, status)
        self.assertIn(b"<Error>", body)

    def test_draws_each_of_them_for_changes(self):
        self.faults.rate = 1
        self.assertEqual(set(proxy.WHAT["PUT"]), {self.faults.draw("PUT")[0] for _ in range(1000)})
        self.assertEqual(set(proxy.ANY), {self.faults.draw("GET")[0] for _ in range(1000)})


class JoinTest(unittest.TestCase):
    def test_a_data_file_ends_before_the_first_number_that_is_missing(self):
        loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
        loader.exec_module(run)
        with tempfile.TemporaryDirectory() as directory:
            objects, joined = os.path.join(directory, "objects"), os.path.join(directory, "joined")
            os.makedirs(os.path.join(objects, "bucket", "x.log"))
            for name in ("00000001", "00000002", "00000002-being-put", "00000004"):
                with open(os.path.join(objects, "bucket", "x.log", name), "w", encoding="ascii") as f:
                    f.write(name[-1])
            with open(os.path.join(objects, "bucket", "lock"), "w", encoding="ascii") as f:
                f.write("lock")
            run.join(objects, joined)
            for name, content in (("x.log", "12"), ("lock", "lock")):
                with open(os.path.join(joined, "bucket", name), encoding="ascii") as f:
                    self.assertEqual(content, f.read())


if __name__ == "__main__":
    unittest.main()
