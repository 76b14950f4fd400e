#!/usr/bin/env python3
"""The hooks of GlobalConfigMap: one ConfigMap copied into many namespaces."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def customize(request):
    """Selects what sync sees besides the copies: the source, and the namespaces to copy it into."""
    spec = request["parent"]["spec"]
    return {
        "relatedResources": [
            {
                "apiVersion": "v1",
                "resource": "configmaps",
                "namespace": spec["source"]["namespace"],
                "names": [spec["source"]["name"]],
            },
            {"apiVersion": "v1", "resource": "namespaces", "labelSelector": spec["namespaces"]},
        ]
    }


def sync(request):
    """Returns the copies that should exist. Without a source there are none."""
    children, related = request["children"], request["related"]
    home = request["parent"]["spec"]["source"]["namespace"]
    copies = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": source["metadata"]["name"], "namespace": namespace},
            "data": source.get("data", {}),
        }
        for source in related["ConfigMap.v1"].values()
        for namespace, found in related["Namespace.v1"].items()
        if namespace != home and "deletionTimestamp" not in found["metadata"]
    ]
    return {"status": {"copies": len(children["ConfigMap.v1"])}, "children": copies}


HOOKS = {"/customize": customize, "/sync": sync}


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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8082
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
