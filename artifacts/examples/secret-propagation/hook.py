#!/usr/bin/env python3
"""The hooks of SecretPropagation: one Secret copied into the namespaces that a label selector matches."""

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
                "resource": "secrets",
                "namespace": spec["sourceNamespace"],
                "names": [spec["sourceName"]],
            },
            {"apiVersion": "v1", "resource": "namespaces", "labelSelector": spec["targetNamespaceLabelSelector"]},
        ]
    }


def sync(request):
    """Returns the copies that should exist. Without a source there are none, and the status says why."""
    spec, related = request["parent"]["spec"], request["related"]
    sources = list(related["Secret.v1"].values())
    copies = [
        copy(source, namespace["metadata"]["name"])
        for source in sources
        for namespace in related["Namespace.v1"].values()
        if namespace["metadata"]["name"] != spec["sourceNamespace"] and "deletionTimestamp" not in namespace["metadata"]
    ]
    missing = f"there is no Secret {spec['sourceName']} in namespace {spec['sourceNamespace']}"
    status = {"working": "fine" if sources else missing, "copies": len(request["children"]["Secret.v1"])}
    return {"status": status, "children": copies}


def copy(source, namespace):
    metadata = {"name": source["metadata"]["name"], "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": source["type"],
        "data": source.get("data", {}),
    }


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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8085
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
