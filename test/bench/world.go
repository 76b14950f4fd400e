// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// patience is how long something may take that is about thousands of objects.
const patience = 5 * time.Minute

// world is a host cluster of its own with our server joined to it, the type Site, a hook and somebody who looks at the
// pages.
type world struct {
	env   *harness.Env
	hook  *hook
	pages *pages
	dir   string // of the other contestants' programs
	files string // for their logs
}

// withWorld brings a world up, uses it and takes it down. Its files stay if something failed.
func withWorld(ctx context.Context, b *bench, use func(*world) error) (err error) {
	env, err := harness.Start(ctx, os.TempDir())
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, env.Stop()); err == nil {
			err = env.Remove()
		}
	}()
	w := &world{env: env, hook: serveHook(), dir: b.programs, files: env.Host.Dir()}
	defer w.hook.close()
	// As it is deployed: the tests' finer heap profile costs something.
	if err := w.restartServer(ctx, func() error {
		env.Server.Environment = nil
		return nil
	}); err != nil {
		return err
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.pages, err = watchPages(ctx, env.Kube); err != nil {
		return err
	}
	return use(w)
}

// restartServer stops the server, lets meanwhile be done and starts it again.
func (w *world) restartServer(ctx context.Context, meanwhile func() error) error {
	if err := w.env.Server.Stop(); err != nil {
		return err
	}
	if err := meanwhile(); err != nil {
		return err
	}
	return w.env.Server.Start(ctx)
}

// prepare makes the type, the namespace and the rights of the other contestants, who are service accounts as our
// server is one: the host treats all alike.
func (w *world) prepare(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: site.Namespace}}
	if _, err := w.env.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: contestants},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: contestants}},
	}
	if _, err := w.env.Kube.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(definitionOfSites), &definition.Object); err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := w.env.Dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	return poll.Within(ctx, patience, func(ctx context.Context) error {
		_, err := w.sites().List(ctx, metav1.ListOptions{})
		return err
	})
}

const definitionOfSites = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "` + site.Resource + `.` + site.Group + `"},
	"spec": {"group": "` + site.Group + `", "scope": "Namespaced", "names": {"kind": "` + site.Kind + `", "plural": "` + site.Resource + `"},
		"versions": [{"name": "` + site.Version + `", "served": true, "storage": true, "subresources": {"status": {}},
			"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
				"properties": {"pages": {"type": "integer"}, "pageBytes": {"type": "integer"}, "value": {"type": "string"},
					"front": {"type": "string"}, "filler": {"type": "string"}}},
				"status": {"type": "object", "properties": {"observedGeneration": {"type": "integer"}}}}}}}]}}`

// settle waits until the machine has no more to do than it always has: what is measured next shall not suffer from what
// was before.
func (w *world) settle(ctx context.Context, others ...contestant) error {
	const idle = 0.35 // of one processor
	pids := append(w.env.Host.PIDs(), w.env.Server.PID())
	for _, other := range others {
		if !slices.Contains(pids, other.pid()) {
			pids = append(pids, other.pid())
		}
	}
	var begin time.Time
	var used time.Duration
	return poll.Within(ctx, patience, func(context.Context) error {
		passed := time.Since(begin)
		if passed < time.Second {
			return errors.New("the machine was not looked at for long enough")
		}
		var now time.Duration
		for _, pid := range pids {
			usage, err := process.UsageOf(pid)
			if err != nil {
				return err
			}
			now += usage.CPU
		}
		first, busy := begin.IsZero(), (now-used).Seconds()/passed.Seconds()
		begin, used = time.Now(), now
		if first || busy > idle {
			return fmt.Errorf("the machine still uses %.2f processors", busy)
		}
		return nil
	})
}

// requests is how many of the chosen requests our server has made to the host.
func (w *world) requests(from hostcluster.Position, chosen hostcluster.Request) (int, error) {
	chosen.User = harness.ServerUser
	events, err := w.env.Host.Audit().Find(from, chosen)
	if err != nil {
		return 0, err
	}
	return len(slices.DeleteFunc(events, func(event auditv1.Event) bool {
		// Who asks something of our own API is looked up at the host. A watch starts anew every few minutes. Events
		// tell that a controller has started. The leader renews its Lease all the time.
		return event.ObjectRef == nil || event.Verb == "watch" || strings.HasSuffix(event.ObjectRef.Resource, "reviews") ||
			event.ObjectRef.Resource == "events" || event.ObjectRef.Resource == "leases"
	})), nil
}

func (w *world) log(name string) string { return filepath.Join(w.files, name+".log") }
