// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

const (
	serviceRange    = "10.0.0.0/24"
	frontProxyUser  = "front-proxy-client"
	serviceAccounts = "https://kubernetes.default.svc"
)

// controllers are those of kube-controller-manager that what we serve depends on: the garbage
// collector, namespaces that empty themselves, service accounts that Pods need, ClusterRoles put
// together from others, claims of volumes that have a finalizer.
var controllers = []string{
	"garbage-collector-controller",
	"namespace-controller",
	"serviceaccount-controller",
	"clusterrole-aggregation-controller",
	"persistentvolumeclaim-protection-controller",
}

// Workloads are the controllers of kube-controller-manager that make Pods out of other objects. A cluster
// has them if Start is told so.
func Workloads() []string {
	return []string{"deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller", "job-controller"}
}

// writeCredentials makes everything that is the same for every attempt to start the cluster.
func (c *Cluster) writeCredentials() error {
	var err error
	if c.ca, err = pki.NewAuthority("host"); err != nil {
		return err
	}
	frontProxyCA, err := pki.NewAuthority("front-proxy")
	if err != nil {
		return err
	}
	serving, err := c.ca.Serving(net.IPv4(10, 0, 0, 1),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	frontProxy, err := frontProxyCA.Client(frontProxyUser)
	if err != nil {
		return err
	}
	// Only its key is used, to sign and to check the tokens of service accounts.
	tokens, err := pki.NewAuthority("service-accounts")
	if err != nil {
		return err
	}
	return errors.Join(
		c.ca.Write(c.path("ca.crt"), c.path("ca.key")),
		frontProxyCA.Write(c.path("front-proxy-ca.crt"), c.path("front-proxy-ca.key")),
		serving.Write(c.path("apiserver.crt"), c.path("apiserver.key")),
		frontProxy.Write(c.path("front-proxy.crt"), c.path("front-proxy.key")),
		os.WriteFile(c.path("service-accounts.key"), tokens.Key, 0o600),
		os.WriteFile(c.path("audit-policy.yaml"), auditPolicy, 0o600),
	)
}

// startEtcd needs no port: kube-apiserver connects through a unix socket, and the advertised
// addresses are not used.
func (c *Cluster) startEtcd() (*process.Process, error) {
	const nobody = "http://127.0.0.1:0"
	return c.start(etcdProgram,
		"--name=host",
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+c.etcdURL(),
		"--advertise-client-urls="+nobody,
		"--listen-peer-urls="+nobody,
		"--initial-advertise-peer-urls="+nobody,
		"--initial-cluster=host="+nobody,
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
}

func (c *Cluster) startAPIServer(port int) (*process.Process, error) {
	help, err := exec.Command(filepath.Join(c.binaries, apiServerProgram), "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("ask kube-apiserver for its flags: %w", err)
	}
	var uidHeaders []string
	hasFlag := bytes.Contains(help, []byte("--requestheader-uid-headers ")) // since Kubernetes 1.32
	refused := bytes.Contains(help, []byte("RemoteRequestHeaderUID=true|false (ALPHA"))
	if hasFlag && !refused {
		uidHeaders = append(uidHeaders, "--requestheader-uid-headers=X-Remote-Uid")
	}
	return c.start(apiServerProgram, append(uidHeaders,
		"--etcd-servers="+c.etcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+c.dir,
		"--tls-cert-file="+c.path("apiserver.crt"),
		"--tls-private-key-file="+c.path("apiserver.key"),
		"--client-ca-file="+c.path("ca.crt"),
		"--service-cluster-ip-range="+serviceRange,
		"--service-account-issuer="+serviceAccounts,
		"--service-account-key-file="+c.path("service-accounts.key"),
		"--service-account-signing-key-file="+c.path("service-accounts.key"),
		"--authorization-mode=RBAC",
		// A loopback address is not a valid endpoint of the service "kubernetes". That service is not
		// used here.
		"--endpoint-reconciler-type=none",
		// The aggregation layer. Without --enable-aggregator-routing a Service of type ExternalName
		// may name localhost.
		"--requestheader-client-ca-file="+c.path("front-proxy-ca.crt"),
		"--requestheader-allowed-names="+frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+c.path("front-proxy.crt"),
		"--proxy-client-key-file="+c.path("front-proxy.key"),
		"--audit-policy-file="+c.path("audit-policy.yaml"),
		"--audit-log-path="+c.path("audit.log"),
		"--audit-log-maxsize=1000000", // megabytes; positions are those of one file
	)...)
}

func (c *Cluster) startControllerManager() (*process.Process, error) {
	kubeconfig, err := c.WriteKubeconfig("controller-manager", "system:kube-controller-manager")
	if err != nil {
		return nil, err
	}
	return c.start(controllerManagerProgram,
		"--kubeconfig="+kubeconfig,
		"--controllers="+strings.Join(slices.Concat(controllers, c.more), ","),
		// As in a real cluster, each controller is a user of its own, with only its own rights.
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.path("service-accounts.key"),
		"--root-ca-file="+c.path("ca.crt"),
		"--leader-elect=false",
		"--secure-port=0",
	)
}

func (c *Cluster) start(program string, args ...string) (*process.Process, error) {
	p, err := process.Start(program, c.path(program+".log"), exec.Command(filepath.Join(c.binaries, program), args...))
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}

func (c *Cluster) etcdURL() string { return "unix://" + c.path("etcd.sock") }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }
