#!/usr/bin/env python3
"""The hooks of GlobalConfigMap: one ConfigMap copied into many namespaces."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def customize(parent):
    """Selects what sync sees besides the copies: the source, and the namespaces to copy it into."""
    spec = parent["spec"]
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


def sync(parent, children, related):
    """Returns the copies that should exist. Without a source there are none."""
    home = parent["spec"]["source"]["namespace"]
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


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/customize":
            answer = customize(request["parent"])
        else:
            answer = sync(request["parent"], request["children"], request["related"])
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8082
    server = ThreadingHTTPServer(("127.0.0.1", port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
