#!/usr/bin/env python3
"""The sync hook of Stack: it answers a database, and a web server as soon as the database is ready."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sync(request):
    stack, deployments = request["parent"], request["children"]["Deployment.apps/v1"]
    name, namespace, spec = stack["metadata"]["name"], stack["metadata"]["namespace"], stack["spec"]
    database = deployments.get(f"{namespace}/{name}-database")
    web = deployments.get(f"{namespace}/{name}-web")

    children = [deployment(f"{name}-database", "postgres:18", 1)]
    # A web server that exists is answered always, or it would be deleted whenever the database restarts.
    if is_available(database) or web:
        children.append(deployment(f"{name}-web", spec["image"], spec["replicas"]))
    return {"status": {"databaseReady": is_available(database), "webReady": is_available(web)}, "children": children}


def deployment(name, image, replicas):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}},
        },
    }


def is_available(deployment):
    conditions = (deployment or {}).get("status", {}).get("conditions", [])
    return any(condition["type"] == "Available" and condition["status"] == "True" for condition in conditions)


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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8102
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
