"""A visitor without a browser: Streamlit's own protocol over a WebSocket, as the browser speaks it.

It opens pages, presses buttons, uploads files and asks for parts of a page again as often as the page wants it. Nothing
is drawn, so nine of them cost the machine what their pages cost the server.
"""

from __future__ import annotations

import re
import time
import urllib.request
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

_KEY = re.compile(r"\$\$ID-[0-9a-f]+-(.+)")


class Refused(Exception):
    """The page did not offer what was asked for, or did not answer in time."""


class Visitor:
    """One open tab. `problems` collects every error that a page showed."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.problems: list[str] = []
        self.widgets: dict[str, str] = {}
        self._page, self.query = "", ""
        self._session = ""
        self._again: dict[str, tuple[float, float]] = {}
        with urllib.request.urlopen(f"{base}/_stcore/health", timeout=20) as answer:
            cookies = answer.headers.get_all("Set-Cookie") or []
        self._token = next((c.split(";")[0].split("=", 1)[1] for c in cookies if "xsrf" in c.split("=")[0]), "")
        self._socket = connect(
            f"ws://{urlsplit(base).netloc}/_stcore/stream",
            subprotocols=["streamlit", self._token or "none"],  # type: ignore[list-item]
            additional_headers={"Cookie": f"_streamlit_xsrf={self._token}"},
            max_size=None,
            open_timeout=20,
        )

    @property
    def credentials(self) -> dict[str, str]:
        """The headers that show that a request comes from the page itself."""
        return {"X-Xsrftoken": self._token, "Cookie": f"_streamlit_xsrf={self._token}"}

    def close(self) -> None:
        self._socket.close()

    def open(self, page: str, query: Mapping[str, str] | None = None, seconds: float = 60) -> None:
        """Go to a page; the first page has no name."""
        self._page, self.query = page, urlencode(query or {})
        self.widgets, self._again = {}, {}
        self._run(seconds)

    def press(self, key: str, seconds: float = 60) -> None:
        """Press the button with this key and wait for the page."""
        if key not in self.widgets:
            raise Refused(f"{self._page}?{self.query} has no button {key}")
        message = self._rerun()
        message.rerun_script.widget_states.widgets.add(id=self.widgets[key], trigger_value=True)
        self._run(seconds, message)

    def upload(self, key: str, name: str, content: bytes, seconds: float = 60) -> None:
        """Give a file to the uploader with this key."""
        if key not in self.widgets:
            raise Refused(f"{self._page}?{self.query} has no uploader {key}")
        asking = BackMsg()
        asking.file_urls_request.request_id = uuid.uuid4().hex
        asking.file_urls_request.session_id = self._session
        asking.file_urls_request.file_names.append(name)
        self._socket.send(asking.SerializeToString())
        places = self._wait(lambda message: message.file_urls_response.file_urls, "file_urls_response", seconds)[0]
        self._put(places.upload_url, name, content)
        message = self._rerun()
        state = message.rerun_script.widget_states.widgets.add(id=self.widgets[key])
        given = state.file_uploader_state_value.uploaded_file_info.add(name=name, size=len(content))
        given.file_id = places.file_id
        given.file_urls.CopyFrom(places)
        self._run(seconds, message)

    def stay(self, seconds: float) -> None:
        """Look at the page for a while: parts of it that renew themselves do."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            due = min((at for at, _ in self._again.values()), default=until)
            self._listen(min(left, max(due - time.monotonic(), 0.01)))
            for fragment, (at, interval) in list(self._again.items()):
                if at <= time.monotonic():
                    self._again[fragment] = (time.monotonic() + interval, interval)
                    message = self._rerun()
                    message.rerun_script.fragment_id = fragment
                    message.rerun_script.is_auto_rerun = True
                    self._socket.send(message.SerializeToString())

    def _rerun(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = self._page
        return message

    def _run(self, seconds: float, message: BackMsg | None = None) -> None:
        """Have the page's script run, to its last end: a script may begin again by itself."""
        self._socket.send((message or self._rerun()).SerializeToString())
        done = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR}
        self._wait(lambda message: message.script_finished in done, "script_finished", seconds)

    def _wait(self, wanted: Any, kind: str, seconds: float) -> Any:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            message = self._listen(left)
            if message is not None and message.WhichOneof("type") == kind and (found := wanted(message)):
                return found
        raise Refused(f"{self._page}?{self.query} did not answer within {seconds:g} s")

    def _listen(self, seconds: float) -> ForwardMsg | None:
        try:
            content = self._socket.recv(timeout=seconds)
        except TimeoutError:
            return None
        message = ForwardMsg()
        message.ParseFromString(content if isinstance(content, bytes) else content.encode())
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._session = message.new_session.initialize.session_id
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            interval = message.auto_rerun.interval
            self._again[message.auto_rerun.fragment_id] = (time.monotonic() + interval, interval)
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take(message.delta.new_element)
        return message

    def _take(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.problems.append(f"{self._page}?{self.query}: {element.exception.type} {element.exception.message}")
            return
        match = _KEY.fullmatch(getattr(getattr(element, kind or "", None), "id", "") or "")
        if match is not None:
            self.widgets[match[1]] = match[0]

    def _put(self, path: str, name: str, content: bytes) -> None:
        boundary = uuid.uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        body = (head + "Content-Type: text/csv\r\n\r\n").encode() + content + f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", **self.credentials}
        request = urllib.request.Request(self.base + path, body, headers, method="PUT")
        with urllib.request.urlopen(request, timeout=60):
            return
