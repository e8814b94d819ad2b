#!/usr/bin/env python3
"""The parts of the run that may hide something, each seen to do what it is for. Run: python3 parts_test.py"""
import datetime
import http.client
import http.server
import importlib.machinery
import importlib.util
import os
import socket
import sys
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import proxy  # noqa: E402
import s3  # noqa: E402

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


class Pages(http.server.BaseHTTPRequestHandler):
    """A bucket that lists one key a page."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        _, bucket, key = urllib.parse.unquote(path).split("/", 2)
        objects = self.server.objects if bucket == "cinch" else {}
        if key or not objects:
            self.tell(200 if key in objects else 404, objects.get(key, b"<Error/>"))
            return
        after = query.get("continuation-token", "")
        keys = sorted(k for k in self.server.listed if k.startswith(query["prefix"]) and k > after)
        more = f"<NextContinuationToken>{keys[0]}</NextContinuationToken>" if keys[1:] else ""
        found = f"<Contents><Key>{keys[0]}</Key></Contents>" if keys else ""
        self.tell(200, f"<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>{found}{more}</ListBucketResult>".encode())

    def tell(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class S3Test(unittest.TestCase):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        server.daemon_threads = True  # a connection stays open
        server.objects = {"a/1": b"one", "a/b c+d": b"two", "b": b"three"}
        server.listed = [*server.objects, "a/gone"]
        self.port = serving(self, server)

    def bucket(self, name="cinch"):
        bucket = s3.Bucket(self.port, name)
        self.addCleanup(bucket.connection.close)
        return bucket

    def test_signs_as_the_example_of_the_specification(self):
        at = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
        identity, credential = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
        with mock.patch.multiple(s3, IDENTITY=identity, CREDENTIAL=credential):
            signed = s3.headers("examplebucket.s3.amazonaws.com", "/", "max-keys=2&prefix=J", at)["authorization"]
        self.assertEqual("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", signed.rpartition("=")[2])

    def test_fetches_all_pages_of_what_is_below_a_name_and_there(self):
        with tempfile.TemporaryDirectory() as directory:
            self.bucket().fetch("a/", directory)
            self.assertEqual({"1", "b c+d"}, set(os.listdir(os.path.join(directory, "a"))))
            self.assertEqual(["a"], os.listdir(directory))
            with open(os.path.join(directory, "a", "b c+d"), "rb") as f:
                self.assertEqual(b"two", f.read())

    def test_what_is_missing_is_nothing_but_a_bucket(self):
        self.assertIsNone(self.bucket().get("a/2"))
        with self.assertRaisesRegex(OSError, "there is no bucket other"):
            list(self.bucket("other").keys(""))

    def test_whoever_does_not_answer_is_an_error(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            with self.assertRaisesRegex(OSError, "timed out"):
                s3.Bucket(silent.getsockname()[1], "cinch", patience=0.01).get("a")


def load_run():
    loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
    run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(run)
    return run


class ClusterTest(unittest.TestCase):
    SCRIPT = """#!/bin/bash
trap 'echo told; kill $gateway; exit' TERM
while :; do
  sleep 1000 &
  gateway=$!
  echo $gateway >"$2/radosgw.pid"
  echo "ready $gateway"
  wait
done
"""

    def test_only_the_gateway_is_killed_and_what_started_it_starts_another(self):
        run = load_run()
        with tempfile.TemporaryDirectory() as work:
            script = os.path.join(work, "ceph.sh")
            with open(script, "w", encoding="ascii") as f:
                f.write(self.SCRIPT)
            os.chmod(script, 0o700)
            cluster = run.Cluster("gateway-0", work, script, "1", work, "cinch")
            run.places.wait_until("the first", lambda: cluster.said().count("ready") == 1)
            self.assertTrue(cluster.kill())
            run.places.wait_until("the second", lambda: cluster.said().count("ready") == 2)
            self.assertIsNone(cluster.child.poll())
            self.assertFalse(cluster.ready())  # nobody listens at port 1
            cluster.end()
            self.assertIn("told", cluster.said())


class JoinTest(unittest.TestCase):
    def test_a_data_file_ends_before_the_first_number_that_is_missing(self):
        run = load_run()
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
