"""What is in a bucket: all objects below a name, as files. Python's standard library alone."""
import datetime
import hashlib
import hmac
import http.client
import os
import urllib.parse
import xml.etree.ElementTree as xml

IDENTITY, CREDENTIAL, REGION = "local-identity", "local-credential", "us-east-1"
NOTHING = hashlib.sha256(b"").hexdigest()
NAMES = "{http://s3.amazonaws.com/doc/2006-03-01/}"


def headers(host, path, query, now):
    """Those that sign a GET, as Signature Version 4 has it."""
    at = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{REGION}/s3/aws4_request"
    signed = f"host:{host}\nx-amz-content-sha256:{NOTHING}\nx-amz-date:{at}\n"
    names = "host;x-amz-content-sha256;x-amz-date"
    request = hashlib.sha256(f"GET\n{path}\n{query}\n{signed}\n{names}\n{NOTHING}".encode()).hexdigest()
    key = ("AWS4" + CREDENTIAL).encode()
    for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{request}"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return {
        "x-amz-date": at,
        "x-amz-content-sha256": NOTHING,
        "authorization": f"AWS4-HMAC-SHA256 Credential={IDENTITY}/{scope}, SignedHeaders={names}, Signature={key.hex()}",
    }


class Bucket:
    """One at a port of this machine. Not thread-safe."""

    def __init__(self, port, name, patience=60):
        self.name, self.host = name, f"127.0.0.1:{port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)

    def get(self, key="", **query):
        """The bytes of an object, or of what is asked of the bucket; nothing if there is none."""
        path = f"/{self.name}/{urllib.parse.quote(key, safe='/-._~')}"
        asked = "&".join(f"{name}={urllib.parse.quote(value, safe='-._~')}" for name, value in sorted(query.items()))
        now = datetime.datetime.now(datetime.timezone.utc)
        try:
            self.connection.request("GET", f"{path}?{asked}", headers=headers(self.host, path, asked, now))
            answer = self.connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as e:
            self.connection.close()
            raise OSError(f"GET {path} at {self.host}: {e!r}") from e
        if answer.status not in (200, 404):
            raise OSError(f"GET {path} at {self.host}: {answer.status} {body[:500]}")
        return body if answer.status == 200 else None

    def keys(self, prefix):
        more = {}
        while more is not None:
            page = self.get(prefix=prefix, **{"list-type": "2"}, **more)
            if page is None:
                raise OSError(f"there is no bucket {self.name} at {self.host}")
            page = xml.fromstring(page)
            yield from (key.text for key in page.iter(f"{NAMES}Key"))
            token = page.findtext(f"{NAMES}NextContinuationToken")
            more = {"continuation-token": token} if token else None

    def fetch(self, prefix, directory):
        """Makes each object below a name a file below a directory."""
        for key in self.keys(prefix):
            content = self.get(key)
            if content is not None:  # or it was deleted meanwhile
                path = os.path.join(directory, key)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(content)
