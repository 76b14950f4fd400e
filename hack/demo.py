#!/usr/bin/env python3
"""Plays the Hello World tutorial on a cluster of its own and reports at the end whether everything went as expected.

    demo.py         play, then end everything that was started
    demo.py keep    play, but leave everything running
    demo.py stop    end what `keep` left running

`make demo` calls it, after building the programs in bin/.
"""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "bin"
EXAMPLE = Path("artifacts/examples/helloworld")
INLINE = EXAMPLE / "controller-inline.yaml"  # the controller with an inline hook
STATE = BIN / "demo.json"  # `keep` writes it for `stop`

START_SECONDS = 120  # for the cluster and for the server; each takes a few seconds
STEP_SECONDS = 30
COLLECT_SECONDS = 90  # the garbage collector of the host looks for new types only every thirty seconds


class Miss(Exception):
    """Something did not happen as expected."""


class Demo:
    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="metacontroller-demo-"))
        self.env = dict(os.environ, KUBECACHEDIR=str(self.dir / "kubectl-cache"))
        self.processes = []  # (name, process), oldest first

    # Steps of the story.

    def say(self, text):
        print(f"\n== {text}", flush=True)

    def run(self, command, quiet=False):
        """Runs a command as a user would type it, shows it and its result, and returns what it printed."""
        if not quiet:
            print(f"$ {command}", flush=True)
        done = subprocess.run(command, shell=True, env=self.env, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not quiet:
            print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            raise Miss(f"exit code {done.returncode} of: {command}\n{done.stdout if quiet else ''}")
        return done.stdout.strip()

    def wait(self, until, check, seconds=STEP_SECONDS):
        """Repeats check until its result is true, and returns the result."""
        deadline = time.monotonic() + seconds
        while True:
            self.check_processes()
            result = check()
            if result:
                return result
            if time.monotonic() > deadline:
                raise Miss(f"not within {seconds} seconds: {until}")
            time.sleep(0.1)

    def pod(self):
        found = json.loads(self.run("kubectl get pods -o json", quiet=True))["items"]
        return found[0] if len(found) == 1 and "deletionTimestamp" not in found[0]["metadata"] else None

    # Processes in the background.

    def start(self, name, *command):
        """Starts a program that Ctrl-C in the terminal does not reach, because the demo ends its programs in order."""
        with open(self.dir / f"{name}.out", "w") as out, open(self.dir / f"{name}.log", "w") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=self.env, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        self.processes.append((name, process))
        return process

    def check_processes(self):
        for name, process in self.processes:
            if process.poll() is not None:
                raise Miss(f"{name} has ended with exit code {process.returncode}")

    def output_of(self, name):
        return (self.dir / f"{name}.out").read_text()

    def start_cluster(self):
        self.start("hostcluster", BIN / "hostcluster")
        line = self.wait("the host cluster is ready", lambda: self.output_of("hostcluster"), START_SECONDS)
        # export KUBECONFIG=... PATH=...:$PATH
        settings = dict(word.split("=", 1) for word in shlex.split(line)[1:])
        self.env["KUBECONFIG"] = settings["KUBECONFIG"]
        self.env["PATH"] = settings["PATH"].replace("$PATH", self.env["PATH"])
        return line.strip()

    def start_server(self):
        self.start("metacontroller-apiserver", BIN / "attach", "run", "-server", BIN / "metacontroller-apiserver",
                   "-data-dir", self.dir / "data")
        self.wait("the cluster serves our API",
                  lambda: "Available" in self.output_of("metacontroller-apiserver"), START_SECONDS)
        print(self.output_of("metacontroller-apiserver").strip(), flush=True)

    def start_hook(self):
        """Starts the hook on port 8080, as in the example, or on another port if that one is in use."""
        for port in [8080] + random.sample(range(12000, 32000), 10):
            process = self.start("hook", sys.executable, EXAMPLE / "hook.py", str(port))
            while process.poll() is None:
                if self.output_of("hook"):
                    print(f"$ python3 {EXAMPLE}/hook.py {port} &", flush=True)
                    return port
                time.sleep(0.05)
            self.processes.pop()
        raise Miss("no free port for the hook")

    def end_hook(self):
        print("$ kill %1", flush=True)
        _, process = self.processes.pop()
        process.terminate()
        process.wait()

    def stop(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave some programs running
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for _, process in reversed(self.processes):
            process.terminate()
            process.wait()
        shutil.rmtree(self.dir)

    def keep(self):
        STATE.write_text(json.dumps({"dir": str(self.dir), "pids": [p.pid for _, p in self.processes]}))

    def print_logs(self):
        for name, _ in self.processes:
            lines = (self.dir / f"{name}.log").read_text().splitlines()[-15:]
            print(f"\n--- the last lines of the log of {name}", *lines, sep="\n", file=sys.stderr)


def story(demo):
    demo.say("A host cluster: etcd, kube-apiserver and kube-controller-manager, no nodes")
    export = demo.start_cluster()
    demo.run("kubectl version")

    demo.say("metacontroller-apiserver joins it through the aggregation layer")
    demo.start_server()
    demo.run("kubectl get apiservice v1alpha1.metacontroller.k8s.io")
    demo.run("kubectl api-resources --api-group=metacontroller.k8s.io")

    demo.say("A new type, HelloWorld")
    demo.run(f"kubectl apply -f {EXAMPLE}/crd.yaml")

    demo.say("Its controller: a hook, and a CompositeController that calls it")
    port = demo.start_hook()
    if port == 8080:
        demo.run(f"kubectl apply -f {EXAMPLE}/controller.yaml")
    else:
        demo.run(f"sed s/8080/{port}/ {EXAMPLE}/controller.yaml | kubectl apply -f -")
    demo.run(f"kubectl wait --for=condition=Ready cc/helloworld --timeout={STEP_SECONDS}s")
    demo.run("kubectl get cc")

    demo.say("A HelloWorld gets its Pod")
    demo.run(f"kubectl apply -f {EXAMPLE}/hello.yaml")
    demo.run(f"kubectl wait --for=jsonpath='{{.status.pods}}'=1 helloworld/your-name --timeout={STEP_SECONDS}s")
    demo.run("kubectl get helloworlds,pods")
    first = expect_greeting(demo, "Hello, Your Name!")

    demo.say("Another greeting: the Pod is deleted and created anew")
    demo.run("""kubectl patch helloworld your-name --type=merge -p '{"spec":{"who":"My Name"}}'""")
    demo.wait("another Pod in the place of the first",
              lambda: (pod := demo.pod()) and pod["metadata"]["uid"] != first)
    demo.run("kubectl get helloworlds,pods")
    expect_greeting(demo, "Hello, My Name!")

    demo.say("The same without a hook to run: an inline hook takes the place of the webhook; nothing is written")
    before = demo.pod()
    demo.run(f"kubectl metacontroller preview -f {INLINE}")
    demo.run(f"kubectl apply -f {INLINE}")
    demo.run(f"kubectl wait --for=condition=ParentsSynced cc/helloworld --timeout={STEP_SECONDS}s")
    demo.run("kubectl metacontroller status cc/helloworld")
    demo.end_hook()
    demo.run("kubectl get helloworlds,pods")
    if demo.pod() != before:
        raise Miss("the Pod should be as before")
    demo.run("""kubectl patch helloworld your-name --type=merge -p '{"spec":{"who":"Their Name"}}'""")
    demo.wait("another Pod in the place of the second",
              lambda: (pod := demo.pod()) and pod["metadata"]["uid"] != before["metadata"]["uid"])
    expect_greeting(demo, "Hello, Their Name!")

    demo.say("The HelloWorld is deleted, and the garbage collector deletes its Pod (this may take half a minute)")
    demo.run("kubectl delete helloworld your-name")
    demo.run(f"kubectl wait --for=delete pod/your-name --timeout={COLLECT_SECONDS}s")
    demo.run("kubectl get pods")

    demo.say("The controller and the type are deleted")
    demo.run("kubectl delete compositecontroller helloworld")
    demo.run("kubectl delete crd helloworlds.example.com")
    left = demo.run("kubectl get compositecontrollers -o name") + demo.run("kubectl get pods -o name")
    if left:
        raise Miss(f"still there: {left}")
    return export


def expect_greeting(demo, greeting):
    """Shows the UID of the Pod and its greeting, and returns the UID."""
    said = demo.run("kubectl get pod your-name -o jsonpath='{.metadata.uid} {.spec.containers[0].command}{\"\\n\"}'")
    uid, _, command = said.partition(" ")
    if json.loads(command) != ["echo", greeting]:
        raise Miss(f"the Pod should echo {greeting!r}")
    return uid


def play(keep):
    if STATE.exists():
        print("A demo is still running: end it with `make demo-stop` first.", file=sys.stderr)
        return 1
    begin = time.monotonic()
    demo = Demo()
    keeping = False
    try:
        export = story(demo)
        print(f"\nPASSED: Hello World happened as expected, in {time.monotonic() - begin:.0f} seconds.", flush=True)
        if keep:
            demo.keep()
            keeping = True
            print(f"\nEverything still runs. To look around:\n\n  {export}\n\nTo end it: make demo-stop", flush=True)
        return 0
    except Miss as miss:
        print(f"\nFAILED: {miss}", file=sys.stderr)
        demo.print_logs()
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    finally:
        if not keeping:
            demo.stop()


def stop():
    if not STATE.exists():
        print("No demo is running.")
        return 0
    state = json.loads(STATE.read_text())
    for pid in reversed(state["pids"]):
        if running(pid):
            os.kill(pid, signal.SIGTERM)
        while running(pid):
            time.sleep(0.1)
    shutil.rmtree(state["dir"], ignore_errors=True)
    STATE.unlink()
    print("The demo has ended.")
    return 0


def running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # in a container without an init, an ended process stays as a zombie
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    command = sys.argv[1] if len(sys.argv) > 1 else "play"
    if command == "stop":
        return stop()
    return play(keep=command == "keep")


if __name__ == "__main__":
    sys.exit(main())
