#!/usr/bin/env python3
"""The hook of clusteredparent: a RoleBinding in the namespace default for a ClusterRole."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sync(request):
    role = request["object"]["metadata"]
    account = role["annotations"]["default-service-account-binding"]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role["name"], "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    }
    return {"attachments": [binding]}


HOOKS = {"/sync": sync}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        """Answers with what the function for the path returns, or with the traceback of its error."""
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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8087
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
