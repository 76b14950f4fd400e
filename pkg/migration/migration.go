// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration moves the CompositeControllers, DecoratorControllers and ControllerRevisions of a cluster from the
// CustomResourceDefinitions of Metacontroller to this server, and back. Nothing refers to the UIDs of these objects, so
// the migration creates copies through the public API.
//
// During a move both sides can be reached: the APIService of v1alpha1 leads to the server, and the definitions serve a
// second version, v0migration. A ValidatingAdmissionPolicy, which the cluster and the server both evaluate, refuses all
// other writes. An annotation of the APIService says which side is authoritative (state.go). Everything else is read
// from the cluster, so a step that was killed can be repeated, or undone by the opposite step.
package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	metacontroller "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

// Config configures a migration.
type Config struct {
	// Host connects to the cluster with the rights of an administrator.
	Host *rest.Config
	// Service is the Service of this server, which listens at Port.
	Service types.NamespacedName
	Port    int32
	// Original is the workload of Metacontroller, as kind/namespace/name, or NoWorkload. If it is empty, the migration
	// searches for it.
	Original string
	// DiscardOthers removes objects from this server that differ from authoritative objects in the definitions.
	DiscardOthers bool
	// AcceptWrites lets controllers run even if the preview says that they would write children.
	AcceptWrites bool
	// Propagation bounds the time until all kube-apiservers know a change of the policy or of the APIService, and have
	// completed the writes that they had admitted before.
	Propagation time.Duration
	// Timeout bounds each wait for the cluster.
	Timeout time.Duration
	// Out receives the progress of each step.
	Out io.Writer
}

// Migration is the migration of one cluster.
type Migration struct {
	*cluster
	switcher  *switcher
	freezer   *freezer
	workloads *workloads
	copier    *copier
}

// cluster has the clients of the cluster that is migrated.
type cluster struct {
	config   Config
	kube     kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	own      metacontroller.MetacontrollerV1alpha1Interface
}

// New returns the migration of a cluster. It does not send requests.
func New(config Config) (*Migration, error) {
	host := rest.CopyConfig(config.Host)
	host.QPS = -1                                      // the cluster limits it by priority and fairness
	host.WarningHandlerWithContext = rest.NoWarnings{} // they are about objects of others
	kube, ofKube := kubernetes.NewForConfig(host)
	dynamic, ofDynamic := dynamic.NewForConfig(host)
	metadata, ofMetadata := metadata.NewForConfig(host)
	own, ofServer := metacontroller.NewForConfig(host)
	if err := errors.Join(ofKube, ofDynamic, ofMetadata, ofServer); err != nil {
		return nil, fmt.Errorf("create the clients for the cluster: %w", err)
	}
	c := &cluster{config, kube, dynamic, metadata, own}
	return &Migration{c, &switcher{c}, &freezer{c}, &workloads{c}, &copier{c}}, nil
}

// say reports progress.
func (c *cluster) say(format string, args ...any) {
	fmt.Fprintf(c.config.Out, format+"\n", args...)
}

// pollInterval is the interval at which a check is repeated until a change has taken effect.
const pollInterval = 100 * time.Millisecond

// until polls check until it returns nil. After config.Timeout, it returns an error that names what and wraps the
// last error.
func (c *cluster) until(ctx context.Context, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, c.config.Timeout, true, func(ctx context.Context) (bool,
		error) {
		if err := check(ctx); ctx.Err() == nil || last == nil {
			last = err
		}
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("timed out after %s waiting for %s: %w", c.config.Timeout, what, last)
}

// propagate waits until a change that one kube-apiserver knows is known to the others, and the writes that were admitted
// before are complete.
func (c *cluster) propagate(ctx context.Context) error {
	select {
	case <-time.After(c.config.Propagation):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// get reads an object of the cluster. It returns nil if there is none.
func (c *cluster) get(ctx context.Context, resource schema.GroupVersionResource, name string) (
	*unstructured.Unstructured, error) {
	found, err := c.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", resource.Resource, name, err)
	}
	return found, nil
}

// change updates an object of the cluster, if change reports that it has changed it.
func (c *cluster) change(ctx context.Context, resource schema.GroupVersionResource, name string,
	change func(*unstructured.Unstructured) bool) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := c.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil || !change(found) {
			return err
		}
		_, err = c.dynamic.Resource(resource).Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("change %s %s: %w", resource.Resource, name, err)
	}
	return nil
}

// sequence does one thing after the other until one fails.
func sequence(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// counted returns a count with its noun.
func counted(count int, of string) string {
	if count == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", count, of)
}
