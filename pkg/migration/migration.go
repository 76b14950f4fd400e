// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration moves the CompositeControllers, DecoratorControllers and ControllerRevisions of a cluster from the
// CustomResourceDefinitions of Metacontroller to this server, and back. Nothing refers to the UIDs of these objects, so
// the migration creates copies through the public API.
//
// During a move both sides can be reached: the APIService of v1alpha1 leads to the server, and the definitions serve a
// second version, v0migration. A ValidatingAdmissionPolicy, which the cluster and the server both evaluate, refuses all
// other writes. Its annotation says which side is authoritative (state.go). Everything else is read from the cluster,
// so a step that was killed can be repeated, or undone by the opposite step:
//
//	Switch: stop Metacontroller, freeze, APIService → server (held), copy, preview, server counts, thaw, run
//	Back:   freeze, hold, copy, definitions count, clean the server, APIService → definitions, thaw, start it again
package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	metacontroller "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

// Config configures a migration.
type Config struct {
	// Host connects to the cluster with the rights of an administrator.
	Host *rest.Config
	// Service is the Service of this server, which listens at Port.
	Service types.NamespacedName
	Port    int32
	// Original is the workload of Metacontroller. If it is empty, the migration searches for it.
	Original Workload
	// DiscardOthers removes objects from this server that differ from authoritative objects in the definitions.
	DiscardOthers bool
	// AcceptWrites lets controllers run even if the preview says that they would write children.
	AcceptWrites bool
	// Timeout bounds each wait for the cluster.
	Timeout time.Duration
	// Out receives the progress of each step.
	Out io.Writer
}

// Migration is the migration of one cluster.
type Migration struct {
	*cluster
	definitions *definitionClient
	registrar   *registrar
	freezer     *freezer
	workloads   *workloads
	copier      *copier
}

// cluster has the clients of the cluster that is migrated.
type cluster struct {
	config   Config
	kube     kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	reviews  metacontroller.SyncReviewInterface
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
		return nil, fmt.Errorf("make clients of the cluster: %w", err)
	}
	return newMigration(&cluster{config, kube, dynamic, metadata, own.SyncReviews()}), nil
}

func newMigration(of *cluster) *Migration {
	definitions := &definitionClient{of}
	return &Migration{of, definitions, &registrar{of}, &freezer{of}, &workloads{of}, &copier{of, definitions}}
}

// say reports progress.
func (c *cluster) say(format string, args ...any) {
	fmt.Fprintf(c.config.Out, format+"\n", args...)
}

// pollInterval is the interval at which a check is repeated until a change has taken effect.
const pollInterval = 50 * time.Millisecond

// until polls check until it returns nil. If that takes too long, the error names what was awaited, and has the error
// of the last check.
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

// pause waits for a period.
func pause(ctx context.Context, period time.Duration) error {
	select {
	case <-time.After(period):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counted returns a count with its noun.
func counted(count int, of string) string {
	if count == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", count, of)
}
