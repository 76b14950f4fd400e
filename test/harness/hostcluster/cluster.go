// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

const (
	startTimeout = 2 * time.Minute // it takes about ten seconds on an idle machine
	portAttempts = 5
	adminGroup   = "system:masters"
)

// Cluster is a running host cluster.
type Cluster struct {
	dir       string
	binaries  string
	url       string
	ca        *pki.Authority
	processes []*process.Process // in the order of their start
	admin     string
	// apiServer serves at apiPort. It may be restarted.
	apiServer *process.Process
	apiPort   int
	more      []string // controllers
}

// Start brings a host cluster up and returns when it serves: the API is ready and Pods can be
// created in the namespace "default". Everything it writes goes into dir, which has to exist; its
// path must leave room for a unix socket (about 90 characters). On an error nothing is left
// running. More controllers of kube-controller-manager may be named, such as Workloads.
func Start(ctx context.Context, dir string, controllers ...string) (*Cluster, error) {
	binaries, err := FindBinaries(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, binaries: binaries, more: controllers}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := c.bringUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the host cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) bringUp(ctx context.Context) error {
	if err := c.writeCredentials(); err != nil {
		return err
	}
	etcd, err := c.startEtcd()
	if err != nil {
		return err
	}
	if err := c.serveAPI(ctx, etcd); err != nil {
		return err
	}
	if c.admin, err = c.WriteKubeconfig("admin", "admin", adminGroup); err != nil {
		return err
	}
	controllerManager, err := c.startControllerManager()
	if err != nil {
		return err
	}
	return c.waitForServiceAccounts(ctx, controllerManager)
}

// serveAPI starts kube-apiserver and waits until it is ready. Somebody else may take the port
// before the server does.
func (c *Cluster) serveAPI(ctx context.Context, etcd *process.Process) error {
	for attempt := 1; ; attempt++ {
		port, err := process.FreePort()
		if err != nil {
			return err
		}
		c.url = fmt.Sprintf("https://127.0.0.1:%d", port)
		apiServer, err := c.startAPIServer(port)
		if err != nil {
			return err
		}
		err = c.waitForAPI(ctx, etcd, apiServer)
		if err == nil {
			c.apiServer, c.apiPort = apiServer, port
			return nil
		}
		clash := strings.Contains(err.Error(), "address already in use")
		if !clash || attempt == portAttempts {
			return err
		}
		c.processes = slices.DeleteFunc(c.processes, func(p *process.Process) bool { return p == apiServer })
	}
}

// RestartAPIServer ends kube-apiserver at once and starts it again at the same address. It returns when the API is ready.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.apiServer.Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	again, err := c.startAPIServer(c.apiPort)
	if err != nil {
		return fmt.Errorf("restart kube-apiserver: %w", err)
	}
	c.processes = slices.DeleteFunc(c.processes, func(p *process.Process) bool { return p == c.apiServer })
	c.apiServer = again
	return c.waitForAPI(ctx, c.processes[0], again)
}

func (c *Cluster) waitForAPI(ctx context.Context, etcd, apiServer *process.Process) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return alive(ctx, "kube-apiserver is ready", func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}, etcd, apiServer)
}

func (c *Cluster) waitForServiceAccounts(ctx context.Context, controllerManager *process.Process) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return alive(ctx, "kube-controller-manager makes service accounts", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}, controllerManager)
}

// alive waits for a condition and gives up as soon as one of the processes it depends on has ended.
func alive(ctx context.Context, condition string, check func(context.Context) error, processes ...*process.Process) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return poll.Until(ctx, func(ctx context.Context) error {
		for _, p := range processes {
			if err := p.Exited(); err != nil {
				cancel(err)
				return err
			}
		}
		if err := check(ctx); err != nil {
			return fmt.Errorf("waiting until %s: %w", condition, err)
		}
		return nil
	})
}

func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := c.AdminConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// AdminConfig returns a client configuration of a user who may do everything, without client-side
// rate limits.
func (c *Cluster) AdminConfig() (*rest.Config, error) { return c.RESTConfig("admin", adminGroup) }

// AdminKubeconfig is the path of a kubeconfig of that user.
func (c *Cluster) AdminKubeconfig() string { return c.admin }

// Audit is the record of all requests to the cluster.
func (c *Cluster) Audit() *AuditLog { return &AuditLog{path: c.path("audit.log")} }

// Dir is the folder with the cluster's files.
func (c *Cluster) Dir() string { return c.dir }

// Logs names the log files of the cluster's programs.
func (c *Cluster) Logs() []string {
	var paths []string
	for _, p := range c.processes {
		paths = append(paths, p.LogPath())
	}
	return paths
}

// Exited returns nil while all programs of the cluster run, else how one of them has ended.
func (c *Cluster) Exited() error {
	for _, p := range c.processes {
		if err := p.Exited(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the cluster at once. It is not meant to be started again, so there is nothing to save.
func (c *Cluster) Stop() error {
	var errs []error
	for _, p := range slices.Backward(c.processes) {
		errs = append(errs, p.Kill())
	}
	return errors.Join(errs...)
}

// PIDs are the process ids of the cluster's programs.
func (c *Cluster) PIDs() []int {
	var pids []int
	for _, p := range c.processes {
		pids = append(pids, p.PID())
	}
	return pids
}
