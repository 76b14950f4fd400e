#!/usr/bin/env python3
"""Runs the code of a PythonLambda inside its Pods. The code is the file function.py beside this one. Each request is
passed to the function handle of the code, and its result is the answer."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from function import handle


class Lambda(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            status, answer = 200, json.dumps(handle(request))
        except Exception as mistake:  # the caller is told about any error, in the code or in the request
            status, answer = 500, json.dumps({"error": f"{type(mistake).__name__}: {mistake}"})
        body = answer.encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Lambda)
    print(f"The lambda listens on port {port}.", flush=True)
    server.serve_forever()
