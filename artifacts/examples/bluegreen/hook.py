#!/usr/bin/env python3
"""The sync hook of bluegreen: two ReplicaSets, and a Service that leads to one of them."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# An annotation of each ReplicaSet: the template of the parent that the ReplicaSet was made from.
TEMPLATE = "ctl.enisoc.com/pod-template"


def sync(request):
    """Starts a new template in the color that does not serve. When it is available, the Service switches to it."""
    parent, children = request["parent"], request["children"]
    blue, green = (Color(color, parent, children["ReplicaSet.apps/v1"]) for color in ("blue", "green"))
    active, inactive = (green, blue) if color_of_service(parent, children["Service.v1"]) == "green" else (blue, green)
    status = {"activeColor": active.color, "active": active.status, "inactive": inactive.status}

    spec = parent["spec"]
    if not active.exists:
        active.replicas = spec["replicas"]
    elif active.template == spec["template"]:
        active.replicas = spec["replicas"]
        inactive.replicas = 0
    elif inactive.template == spec["template"] and inactive.exists:
        inactive.replicas = spec["replicas"]
        if inactive.is_available():
            active, inactive = inactive, active
    else:  # the inactive color has Pods of another template, which must be deleted first
        if inactive.is_empty():
            inactive.template = spec["template"]
            inactive.replicas = spec["replicas"]
        else:
            inactive.replicas = 0

    return {"status": status, "children": [service(parent, active), active.desired(), inactive.desired()]}


class Color:
    """One of the two ReplicaSets. It begins as observed; sync then changes it to what is desired."""

    def __init__(self, color, parent, replicasets):
        self.color, self.parent = color, parent
        self.name = f"{parent['metadata']['name']}-{color}"
        self.replicas, self.template = 0, parent["spec"]["template"]
        self.status, self.exists, self.is_current = {}, False, False
        for observed in replicasets.values():
            if observed["metadata"]["name"] == self.name:
                self.exists = True
                self.status = observed.get("status", {})
                self.replicas = observed["spec"]["replicas"]
                self.template = json.loads(observed["metadata"]["annotations"][TEMPLATE])
                self.is_current = self.status.get("observedGeneration", 0) >= observed["metadata"]["generation"]

    def is_available(self):
        """Reports whether all desired Pods have been ready for long enough."""
        return self.is_current and self.status.get("availableReplicas", 0) >= self.replicas

    def is_empty(self):
        """Reports whether no Pods are left."""
        return not self.exists or self.replicas == 0 and self.is_current and self.status.get("replicas", 0) == 0

    def desired(self):
        metadata, spec = self.template["metadata"], self.parent["spec"]
        labels = metadata["labels"] | {"color": self.color}
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": self.name, "labels": labels, "annotations": {TEMPLATE: json.dumps(self.template)}},
            "spec": {
                "replicas": self.replicas,
                "minReadySeconds": spec["minReadySeconds"],
                "selector": {"matchLabels": spec["selector"]["matchLabels"] | {"color": self.color}},
                "template": self.template | {"metadata": metadata | {"labels": labels}},
            },
        }


def color_of_service(parent, services):
    name = parent["spec"]["service"]["metadata"]["name"]
    for observed in services.values():
        if observed["metadata"]["name"] == name:
            return observed["spec"]["selector"].get("color")
    return None


def service(parent, active):
    wanted = parent["spec"]["service"]
    selector = wanted["spec"]["selector"] | {"color": active.color}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": wanted["metadata"],
        "spec": wanted["spec"] | {"selector": selector},
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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8091
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
