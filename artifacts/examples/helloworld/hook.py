#!/usr/bin/env python3
"""The sync hook of HelloWorld: it is sent a HelloWorld and answers with the Pods that should exist for it."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sync(parent, children):
    name = parent["metadata"]["name"]
    who = parent.get("spec", {}).get("who", "World")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "OnFailure",
            "containers": [
                {
                    "name": "hello",
                    "image": "busybox",
                    "command": ["echo", f"Hello, {who}!"],
                }
            ],
        },
    }
    return {"status": {"pods": len(children["Pod.v1"])}, "children": [pod]}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(sync(request["parent"], request["children"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    server = ThreadingHTTPServer(("127.0.0.1", port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
