"""OTLP/HTTP receiver. Decodes with the official protobuf bindings, and returns what it got at GET /received."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

KINDS = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}
received = []
# "accept", "hang", or an HTTP status
mode = ["accept"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, content_type):
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, json.dumps(received).encode(), "application/json")

    def do_PUT(self):
        mode[0] = self.path[1:]
        self.answer(204, b"", "text/plain")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if mode[0] == "hang":
            time.sleep(60)
            return
        if mode[0] != "accept":
            self.answer(int(mode[0]), b"", "text/plain")
            return
        request_type, response_type = KINDS[self.path]
        message = request_type()
        message.ParseFromString(body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        received.append({"path": self.path, "headers": headers, "message": MessageToDict(message)})
        self.answer(200, response_type().SerializeToString(), "application/x-protobuf")


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
