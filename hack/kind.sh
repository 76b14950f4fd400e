#!/usr/bin/env bash
# Start a cluster for test/e2e with kind and Docker: bin/kind/kubeconfig leads to it. Its node asks a registry beside
# it first, which has the image of this checkout, and then that of the name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p bin/kind/hosts

docker run -d --name kind-registry --network bridge -p 127.0.0.1:5001:5000 registry:2
cat >bin/kind/hosts/hosts.toml <<'EOF'
[host."http://kind-registry:5000"]
  capabilities = ["pull", "resolve"]
EOF
kind create cluster --kubeconfig bin/kind/kubeconfig --config - <<EOF
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
  extraMounts:
  - {hostPath: $PWD/bin/kind/hosts, containerPath: /etc/containerd/certs.d/_default}
containerdConfigPatches:
- |-
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
EOF
docker network connect kind kind-registry

make image
mkdir -p bin/kind/layout
tar -C bin/kind/layout -xf bin/image/metacontroller-apiserver-image.tar
go tool -modfile=hack/image/go.mod crane push --insecure bin/kind/layout 127.0.0.1:5001/metacontroller/metacontroller-apiserver:latest
