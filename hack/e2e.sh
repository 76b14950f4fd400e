#!/usr/bin/env bash
# Run test/e2e: in the cluster of E2E_KUBECONFIG, which must be able to pull the images, or else in a new one-node
# cluster of ../shared/realcluster, whose logs are copied to bin/e2e-logs if a test fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n "${E2E_KUBECONFIG:-}" ]]; then
  go test -count=1 -timeout 20m -parallel 8 -v ./test/e2e
  exit
fi

node=$PWD/../shared/realcluster
if [[ ! -x $node/up.sh ]]; then
  echo "There is no $node to run the tests in. Set E2E_KUBECONFIG to the kubeconfig of a cluster that may be broken." >&2
  exit 1
fi
stop() {
  local status=$?
  if ((status != 0)); then
    rm -rf bin/e2e-logs
    mkdir -p bin/e2e-logs
    (. "$node/env.sh" && cp -r "$LOG"/. bin/e2e-logs/ && kc get pods -A -o wide >bin/e2e-logs/pods.txt 2>&1 &&
      kc -n metacontroller logs metacontroller-apiserver-0 --tail=-1 >bin/e2e-logs/server.log 2>&1) || true
    echo "The logs of the cluster are in bin/e2e-logs." >&2
  fi
  # The network of the node goes with its last process, perhaps while down.sh wants to remove it.
  "$node/down.sh" || "$node/down.sh"
  exit "$status"
}
"$node/down.sh" --quiet || "$node/down.sh" --quiet
trap stop EXIT
"$node/up.sh"
eval "$("$node/up.sh" env)"

# pack NAME:TAG ROOT CONFIG packs a root folder as an image and puts it in the registry of the node.
images=$PWD/bin/e2e
pack() {
  "$node/mkimage.sh" "$images/image.tar" "$1" "$2" "$3"
  "$node/push.sh" "$images/image.tar"
}
rm -rf "$images"
mkdir -p "$images"/{server,nginx/bin}
make image
tar -C "$images/server" -xf bin/image/metacontroller-apiserver-image.tar
(. "$node/env.sh" && go tool -modfile=hack/image/go.mod crane push --insecure "$images/server" "$REGISTRY/metacontroller/metacontroller-apiserver:latest")
# The examples name images that the node cannot pull. Instead of nginx and postgres, a program answers at the port of nginx.
cp /bin/busybox "$images/nginx/bin/busybox"
for image in nginx:{latest,1.28,1.29} postgres:18; do
  pack "$image" "$images/nginx" '{"Entrypoint":["/bin/busybox","httpd","-f","-p","80"]}'
done
# program PATH ROOT puts a program of this machine into a root folder, with the libraries that it is linked with.
program() {
  mkdir -p "$2/bin"
  cp "$1" "$2/bin/"
  ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$2$(dirname "$library")"
    cp -L "$library" "$2$library"
  done
}
program "$(readlink -f "$(command -v node)")" "$images/node"
pack node:22 "$images/node" '{"Entrypoint":["/bin/node"],"Env":["PATH=/bin"]}'
# The etcd of the host cluster runs in the cluster, too.
program "$(hack/hostcluster/build.sh --print-dir)/etcd" "$images/etcd"
pack e2e-etcd:1 "$images/etcd" '{"Entrypoint":["/bin/etcd"]}'
rm -rf "$images"

# The kubelet starts again by itself.
E2E_RESTART_KUBELET=". '$node/env.sh' && kill -KILL \$(pgrep --ns \$(node_pid) --nslist pid --exact kubelet)" \
  E2E_KUBECONFIG=$KUBECONFIG go test -count=1 -timeout 20m -parallel 8 -v ./test/e2e
