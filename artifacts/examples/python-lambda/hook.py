#!/usr/bin/env python3
"""The sync hook of PythonLambda: it turns code into a ConfigMap, a Deployment and a Service that run the code."""

import hashlib
import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SERVER = Path(__file__).with_name("server.py").read_text()


def sync(request):
    parent, children = request["parent"], request["children"]
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    files = {"function.py": parent["spec"]["code"], "server.py": SERVER}
    deployed = children["Deployment.apps/v1"].get(f"{namespace}/{name}", {})
    status = {
        "url": f"http://{name}.{namespace}",
        "readyReplicas": deployed.get("status", {}).get("readyReplicas", 0),
    }
    return {"status": status, "children": [configmap(name, files), deployment(name, files, parent["spec"]), service(name)]}


def configmap(name, files):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": files}


def deployment(name, files, spec):
    # Pods read the code when they start. If the code changes, this annotation changes too, so the Deployment replaces
    # the Pods.
    code = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    container = {
        "name": "lambda",
        "image": spec["image"],
        "command": ["python3", "/lambda/server.py", "8080", "0.0.0.0"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"tcpSocket": {"port": "http"}},
        "volumeMounts": [{"name": "code", "mountPath": "/lambda"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {
        "metadata": {"labels": labels(name), "annotations": {"example.com/code": code}},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65534,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "code", "configMap": {"name": name}}],
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels(name)}, "template": pod},
    }


def service(name):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": labels(name), "ports": [{"port": 80, "targetPort": "http"}]},
    }


def labels(name):
    return {"example.com/python-lambda": name}


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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8086
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
