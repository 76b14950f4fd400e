// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/node"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// ServerUser is the user that the server is at the host: the service account of artifacts/deploy,
// with exactly its rights.
const ServerUser = "system:serviceaccount:" + aggregation.Namespace + ":metacontroller-apiserver"

// binaryVariable names a ready-made server binary, for instance one built with the race detector.
const binaryVariable = "METACONTROLLER_APISERVER"

// pluginVariable names a ready-made binary of the plugin of kubectl.
const pluginVariable = "KUBECTL_METACONTROLLER"

// Env is a host cluster with our server joined to it, and clients of a user who may do everything.
type Env struct {
	Host   *hostcluster.Cluster
	Server *aggregation.Server

	Config         *rest.Config
	Kube           kubernetes.Interface
	Dynamic        dynamic.Interface
	Metacontroller versioned.Interface

	dir    string
	node   *node.Node
	spares spareTypes
}

// Main runs the tests of a package in an environment of its own and returns the exit code for
// os.Exit. The logs are kept, and their last lines printed, if a test fails. The server is given
// flags, if any.
func Main(m *testing.M, use func(*Env), flags ...string) int {
	return mainWith(m, use, deployment{flags: flags})
}

// MainForTenants is Main with a server that has the rights of artifacts/deploy/overlays/tenants, and no others.
func MainForTenants(m *testing.M, use func(*Env), flags ...string) int {
	overlay := []string{"components/tenants/controllers-role.yaml", "components/tenants/policy.yaml"}
	return mainWith(m, use, deployment{flags: flags, overlay: overlay})
}

// MainWithNode is Main with a host cluster that runs Deployments, StatefulSets, DaemonSets and Jobs, as far
// as a cluster can whose one node is package node.
func MainWithNode(m *testing.M, use func(*Env), flags ...string) int {
	return mainWith(m, use, deployment{flags: flags, node: true})
}

// MainWithoutServer is Main with a host cluster that nothing is installed in. Env.Server is nil.
func MainWithoutServer(m *testing.M, use func(*Env)) int {
	return mainWith(m, use, deployment{none: true})
}

// deployment is how the server runs.
type deployment struct {
	none  bool // it does not run
	node  bool // the host has a node
	flags []string
	// overlay are manifests of artifacts/deploy that are applied over the rights of the server.
	overlay []string
}

func mainWith(m *testing.M, use func(*Env), deployed deployment) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env, err := start(ctx, testFolder(), deployed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// An interrupted run leaves no process behind either.
	ignoreInterrupts := context.AfterFunc(ctx, func() {
		fmt.Fprintln(os.Stderr, errors.Join(errors.New("the test run was interrupted"), env.Stop(), env.Remove()))
		os.Exit(130)
	})
	defer ignoreInterrupts()

	use(env)
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if code != 0 {
		env.printLogs()
		return code
	}
	if err := env.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Start brings an environment up whose files are in a new folder of parent, with flags for the
// server. On an error nothing is left running; the logs are kept.
func Start(ctx context.Context, parent string, flags ...string) (*Env, error) {
	return start(ctx, parent, deployment{flags: flags})
}

func start(ctx context.Context, parent string, deployed deployment) (*Env, error) {
	dir, err := os.MkdirTemp(parent, "harness-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the environment: %w", err)
	}
	env := &Env{dir: dir}
	if err := env.start(ctx, deployed); err != nil {
		return nil, errors.Join(fmt.Errorf("start the test environment (logs are in %s): %w", dir, err), env.Stop())
	}
	return env, nil
}

func (e *Env) start(ctx context.Context, deployed deployment) error {
	var err error
	var controllers []string
	if deployed.node {
		controllers = hostcluster.Workloads()
	}
	if e.Host, err = hostcluster.Start(ctx, e.dir, controllers...); err != nil {
		return err
	}
	if e.Config, err = e.Host.AdminConfig(); err != nil {
		return err
	}
	clients := []error{nil, nil, nil}
	e.Kube, clients[0] = kubernetes.NewForConfig(e.Config)
	e.Dynamic, clients[1] = dynamic.NewForConfig(e.Config)
	e.Metacontroller, clients[2] = versioned.NewForConfig(e.Config)
	if err := errors.Join(clients...); err != nil {
		return err
	}
	if deployed.node {
		if e.node, err = node.Start(ctx, e.Kube); err != nil {
			return err
		}
	}
	if deployed.none {
		return nil
	}
	return e.startServer(ctx, deployed)
}

// ServerBinary returns the binary under test: the one the environment names, else one built from
// this source tree.
func (e *Env) ServerBinary(ctx context.Context) (string, error) {
	return e.binary(ctx, binaryVariable, "metacontroller-apiserver")
}

// PluginBinary is ServerBinary for the plugin of kubectl.
func (e *Env) PluginBinary(ctx context.Context) (string, error) {
	return e.binary(ctx, pluginVariable, "kubectl-metacontroller")
}

func (e *Env) binary(ctx context.Context, variable, name string) (string, error) {
	if binary := os.Getenv(variable); binary != "" {
		return binary, nil
	}
	binary := filepath.Join(e.dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/"+name)
	build.Dir = hostcluster.RepositoryRoot()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

func (e *Env) startServer(ctx context.Context, deployed deployment) error {
	binary, err := e.ServerBinary(ctx)
	if err != nil {
		return err
	}
	// The server gets the rights of the deployment manifests and no others, so that a missing right
	// fails here.
	manifests := filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "deploy")
	for _, file := range append([]string{"base/namespace.yaml", "base/rbac.yaml"}, deployed.overlay...) {
		if _, err := e.Host.RunKubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(manifests, file)); err != nil {
			return err
		}
	}
	kubeconfig, err := e.Host.WriteKubeconfig("server", ServerUser, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	e.Server, err = aggregation.Start(ctx, aggregation.Config{
		Binary:       binary,
		DataDir:      filepath.Join(e.dir, "data"),
		Kubeconfig:   kubeconfig,
		Registrar:    e.Config,
		BindAddress:  "127.0.0.1",
		ExternalName: "localhost",
		Args:         deployed.flags,
		Environment:  []string{fmt.Sprintf("GODEBUG=memprofilerate=%d", profileRate)},
		LogPath:      filepath.Join(e.dir, "metacontroller-apiserver.log"),
	})
	return err
}

// Stop stops the server and the host. It is an error if the server does not exit in order. The
// files stay.
func (e *Env) Stop() error {
	var errs []error
	if e.Server != nil {
		if err := e.Server.Exited(); err == nil {
			errs = append(errs, e.Server.Stop())
		}
		errs = append(errs, RaceFree(e.Server.LogPath))
	}
	if e.node != nil {
		errs = append(errs, e.node.Stop())
	}
	if e.Host != nil {
		errs = append(errs, e.Host.Stop())
	}
	return errors.Join(errs...)
}

// Remove removes the files of an environment that has stopped.
func (e *Env) Remove() error {
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("remove the environment's files: %w", err)
	}
	return nil
}

// RaceFree returns an error with the report if the race detector of a server has written one into its log.
func RaceFree(logPath string) error {
	log, err := os.ReadFile(logPath)
	if err != nil {
		return fmt.Errorf("look for data races in the server's log: %w", err)
	}
	const report = "WARNING: DATA RACE"
	if _, race, found := bytes.Cut(log, []byte(report)); found {
		return fmt.Errorf("%s in the server:%s", report, race[:min(len(race), 4000)])
	}
	return nil
}

func (e *Env) printLogs() {
	const lines = 20
	fmt.Fprintf(os.Stderr, "\nThe files of the test environment are kept in %s\n", e.dir)
	logs := e.Host.Logs()
	if e.Server != nil {
		logs = append(logs, e.Server.LogPath)
	}
	for _, path := range logs {
		fmt.Fprintf(os.Stderr, "--- the last %d lines of %s\n%s\n", lines, path, process.Tail(path, lines))
	}
}

// deadline is how long tests wait for a condition. It is long enough for a loaded machine, and only
// failing tests use it up.
const deadline = 2 * time.Minute
