"""A small server for the page's script alone: one page, the static files, and events as a test wants them."""

from __future__ import annotations

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from frontguard.markup import Element
from frontguard.web.app import static_files
from frontguard.web.parts import Page, document, message_page

KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Harness:
    """A small server: one page, the static files, and an event stream into which a test puts what it likes."""

    def __init__(self, port: int = 0, *, page: Page | None = None, version: str = "one") -> None:
        # What it serves is settled before it listens: a page that waits for a server on this port asks at once.
        self.page = page or message_page("Nothing", "Nothing yet.")
        self.version = version
        self.opened = 0
        self.refusing = 0  # so many of the next event streams are answered with an error
        self._closed = False
        self._streams: list[queue.Queue[str | None]] = []
        self._lock = threading.Lock()
        self._static, _ = static_files()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def send(self, regions: dict[str, Any], *, title: str = "", to: int | None = None) -> None:
        """To all streams, or to one of them. Elements become what the server would send."""
        text = self._event(regions, title)
        with self._lock:
            for stream in self._streams if to is None else [self._streams[to]]:
                stream.put(text)

    def _event(self, regions: dict[str, Any], title: str = "") -> str:
        plain = {name: each.plain() if isinstance(each, Element) else each for name, each in regions.items()}
        message = {"version": self.version, "title": title or self.page.title, "regions": plain}
        return f"event: regions\ndata: {json.dumps(message)}\n\n"

    def drop(self) -> None:
        """End all streams, as a server that dies does."""
        with self._lock:
            for stream in self._streams:
                stream.put(None)
            self._streams.clear()

    def close(self) -> None:
        """Listen no more, then end what is open; the other way round a page could come back to a server just closed."""
        self._server.shutdown()
        self._server.server_close()
        self._closed = True
        self.drop()

    def _handler(harness) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/events":
                    return self._stream()
                name = path.removeprefix("/static/")
                known = path.startswith("/static/") and name in harness._static
                text = document(harness.page, events="/events", version=harness.version).encode()
                body = harness._static[name] if known else text
                kind = KINDS[name.rpartition(".")[2]] if known else "text/html; charset=utf-8"
                self._head(200, kind, len(body))
                self.wfile.write(body)
                return None

            def _head(self, status: int, kind: str, length: int | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Security-Policy", POLICY)
                self.send_header("Cache-Control", "no-store")
                if length is not None:
                    self.send_header("Content-Length", str(length))
                self.end_headers()

            def _stream(self) -> None:
                stream: queue.Queue[str | None] = queue.Queue()
                with harness._lock:
                    if harness._closed:
                        return None
                    harness.opened += 1
                    if harness.refusing:
                        harness.refusing -= 1
                        return self._head(503, "text/plain", 0)
                    harness._streams.append(stream)
                self._head(200, "text/event-stream")
                text: str | None = "retry: 50\n" + harness._event(dict(harness.page.regions))
                while text is not None:
                    try:
                        self.wfile.write(text.encode())
                        self.wfile.flush()
                    except OSError:
                        return None
                    text = stream.get()
                return None

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        return Handler
