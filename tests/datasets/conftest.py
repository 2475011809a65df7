"""A web server on the loopback address, small tables, and the folder of the real ones."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from stableselect import datasets
from stableselect.datasets._registry import RemoteFile, Source

DATA = Path(os.environ.get("STABLESELECT_DATA", Path(__file__).parents[3] / "shared" / "data"))


class Server:
    """Serves bytes by name; ``claimed`` is a Content-Length that differs from the truth."""

    def __init__(self):
        self.files, self.claimed, self.requests = {}, {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.lstrip("/")
                outer.requests.append(name)
                if name not in outer.files:
                    self.send_error(404)
                    return
                body = outer.files[name]
                self.send_response(200)
                self.send_header("Content-Length", str(outer.claimed.get(name, len(body))))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, name):
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def source(self, form, **files):
        """Serve the files (``.`` in a name is written ``__``) and return the source they make."""
        remote = []
        for key, content in files.items():
            name = key.replace("__", ".")
            self.files[name] = content
            remote.append(RemoteFile(name, self.url(name)))
        return Source(form, tuple(remote))

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server():
    started = Server()
    yield started
    started.stop()


@pytest.fixture
def small():
    """A table of 6 rows and 3 columns in the place of GLIOMA: its arrays, and its entry without sources."""
    X = (np.arange(18).reshape(6, 3) ** 2 / 7).astype(np.float32)
    y = np.array([0, 1, 0, 1, 1, 0], dtype=np.uint8)
    digests = {name: datasets._storage.digest(array) for name, array in (("X", X), ("y", y))}
    entry = replace(
        datasets.info("glioma"), n_rows=6, n_columns=3, n_classes=2, class_counts=(3, 3), sha256=digests, sources=()
    )
    return X, y, entry


@pytest.fixture
def real():
    """Return a function that loads a real table, or skips where it is absent."""

    def load(name, **options):
        if not (DATA / f"{name}.npz").exists():
            pytest.skip(f"the benchmark data folder has no {name}.npz; set STABLESELECT_DATA")
        return datasets.load(name, data_home=DATA, **options)

    return load
