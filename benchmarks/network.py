"""A stub network: botocore's whole path but the socket, with a fixed delay for each request; the stub's own work is part of it.

Serialising, endpoint rules, signing, retries and parsing are all there; what is missing of a real request is the work of
urllib3 and TLS. So whoever sends more requests looks a little better here than on a real network.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from benchmarks.table_stub import Table

HEADERS = {
    "Server": "Server",
    "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
    "Content-Type": "application/x-amz-json-1.0",
    "Connection": "keep-alive",
    "x-amzn-RequestId": "STUBSTUBSTUBSTUBSTUBSTUBSTUBSTUBSTUBSTUBSTUBSTUBSTUB",
}


class Network:
    """Answers a client's requests from a table, each after `delay_ms`. Counts requests and bytes."""

    def __init__(self, table: Table | None = None) -> None:
        self.table = table or Table()
        self.delay_ms = 0.0
        self.requests = 0
        self.bytes_out = 0
        self.bytes_in = 0

    def attach(self, client: Any) -> Any:
        """`client`, with its requests answered here."""
        client.meta.events.register("before-send.*", self._send)
        return client

    def reset(self, table: Table | None = None) -> None:
        """Start over with an empty table and no counts."""
        self.table = table or Table()
        self.requests = self.bytes_out = self.bytes_in = 0

    def answer(self, request: Any) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to a prepared request."""
        operation = request.headers["X-Amz-Target"].decode().rsplit(".", 1)[-1]
        status, answer = self.table.answer(operation, json.loads(request.body))
        body = json.dumps(answer, separators=(",", ":")).encode()
        self.requests += 1
        self.bytes_out += len(request.body)
        self.bytes_in += len(body)
        headers = {**HEADERS, "Content-Length": str(len(body)), "x-amz-crc32": str(zlib.crc32(body))}
        return status, headers, body

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        arrives = time.perf_counter() + self.delay_ms / 1000
        status, headers, body = self.answer(request)
        if self.delay_ms:
            time.sleep(max(0.0, arrives - time.perf_counter()))
        return AWSResponse(request.url, status, HTTPHeaders.from_dict(headers), _Raw(body))


class _Raw:
    """The body as urllib3 hands it to botocore."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body
