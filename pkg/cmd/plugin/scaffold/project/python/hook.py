#!/usr/bin/env python3
"""The hook of Websites."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sync(request):
    """Gets a Website and its existing children, and returns its status and its desired children."""
    parent, children = request["parent"], request["children"]
    name, namespace, spec = parent["metadata"]["name"], parent["metadata"]["namespace"], parent["spec"]
    observed = children["Deployment.apps/v1"].get(f"{namespace}/{name}", {})
    status = {"readyReplicas": observed.get("status", {}).get("readyReplicas", 0)}
    return {"status": status, "children": [deployment(name, spec)]}


def deployment(name, spec):
    labels = {"website": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": spec["image"]}]},
            },
        },
    }


HOOKS = {"/sync": sync}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        """Answers with the result of the function for the path, or with the traceback of its error."""
        request = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.path in HOOKS:
                status, text = 200, json.dumps(HOOKS[self.path](json.loads(request)))
            else:
                status, text = 404, f"there is no hook {self.path}, only {', '.join(HOOKS)}"
        except Exception:
            traceback.print_exc()
            status, text = 500, traceback.format_exc()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
