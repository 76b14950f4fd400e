#!/usr/bin/env python3
"""The hook of DaemonJob: a task that runs once on each node, as a DaemonSet that goes when it is done everywhere."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sync(request):
    job = request["parent"]
    status = job.get("status", {})
    if condition(status, "Complete"):  # for ever: the DaemonSet is not wanted any more
        return {"status": {key: status[key] for key in ("nodes", "done", "conditions")}, "children": []}

    nodes, done = 0, 0
    for daemonset in request["children"]["DaemonSet.apps/v1"].values():
        seen = daemonset.get("status", {})
        if seen.get("observedGeneration") == daemonset["metadata"]["generation"]:
            nodes, done = seen.get("desiredNumberScheduled", 0), seen.get("numberReady", 0)
    complete = nodes > 0 and done == nodes
    return {
        "status": {
            "nodes": nodes,
            "done": done,
            "conditions": [{"type": "Complete", "status": "True" if complete else "False"}],
        },
        # In this answer the DaemonSet still is there. The next one begins with the condition.
        "children": [daemonset_for(job)],
    }


def condition(status, name):
    return any(c["type"] == name and c["status"] == "True" for c in status.get("conditions", []))


def daemonset_for(job):
    """Returns a DaemonSet whose Pods are ready when the containers of the job have ended."""
    name, template = job["metadata"]["name"], job["spec"]["template"]
    labels = {"daemonjob": name}
    pod = template["spec"] | {
        "initContainers": template["spec"].get("initContainers", []) + template["spec"]["containers"],
        "containers": [{"name": "pause", "image": job["spec"]["pauseImage"]}],
    }
    metadata = template.get("metadata", {})
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": metadata | {"labels": metadata.get("labels", {}) | labels}, "spec": pod},
        },
    }


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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8089
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
