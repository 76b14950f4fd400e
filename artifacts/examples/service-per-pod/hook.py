#!/usr/bin/env python3
"""The hooks of service-per-pod: a Service for each Pod of a StatefulSet, and a label by which it selects that Pod."""

import json
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sync_service_per_pod(request):
    """Returns the Services that the annotations of a StatefulSet ask for."""
    statefulset = request["object"]
    annotations, spec = statefulset["metadata"]["annotations"], statefulset["spec"]
    ports = parse_ports(annotations["service-per-pod-ports"])
    first = spec.get("ordinals", {}).get("start", 0)
    pods = [f"{statefulset['metadata']['name']}-{first + index}" for index in range(spec["replicas"])]
    return {"attachments": [service(pod, annotations["service-per-pod-label"], ports) for pod in pods]}


def finalize_service_per_pod(request):
    """The StatefulSet is being deleted or has opted out. It is finalized as soon as its Services are deleted."""
    return {"attachments": [], "finalized": not request["attachments"]["Service.v1"]}


def sync_pod_name_label(request):
    """Puts the name of the Pod into a label. An annotation of the Pod names the label."""
    metadata = request["object"]["metadata"]
    return {"labels": {metadata["annotations"]["pod-name-label"]: metadata["name"]}}


def service(pod, label, ports):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": pod, "labels": {"app": "service-per-pod"}},
        "spec": {
            "selector": {label: pod},
            "ports": [
                {"name": f"port-{port}", "port": port, "targetPort": target} for port, target in ports
            ],
        },
    }


def parse_ports(text):
    """Reads text such as "80:8080,443:8443": each port of the Service, and the port of the Pod behind it."""
    try:
        pairs = [tuple(int(number) for number in pair.split(":")) for pair in text.split(",")]
        if all(len(pair) == 2 for pair in pairs):
            return pairs
    except ValueError:
        pass
    raise Mistake(f'the annotation service-per-pod-ports is {text!r}, it should be like "80:8080,443:8443"')


class Mistake(Exception):
    """An error in an object. metacontroller-apiserver reports it as an event of that object."""


HOOKS = {
    "/sync-service-per-pod": sync_service_per_pod,
    "/finalize-service-per-pod": finalize_service_per_pod,
    "/sync-pod-name-label": sync_pod_name_label,
}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        """Answers with what the function for the path returns, or with the traceback of its error."""
        request = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.path in HOOKS:
                status, text = 200, json.dumps(HOOKS[self.path](json.loads(request)))
            else:
                status, text = 404, f"there is no hook {self.path}, only {', '.join(HOOKS)}"
        except Mistake as mistake:
            status, text = 400, str(mistake)
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
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8083
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = ThreadingHTTPServer((address, port), Hook)
    print(f"The hook listens on port {port}.", flush=True)
    server.serve_forever()
