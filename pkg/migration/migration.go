// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

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

// Config says what is migrated, and how.
type Config struct {
	// Host is the cluster, as an administrator.
	Host *rest.Config
	// Service leads to this server, at Port.
	Service types.NamespacedName
	Port    int32
	// Original names the workload of Metacontroller. It is looked for if that is empty.
	Original Workload
	// DiscardOthers removes from this server what differs from the definitions, where the definitions count.
	DiscardOthers bool
	// AcceptWrites lets controllers run although the preview says that they write children.
	AcceptWrites bool
	// Timeout bounds each wait for the cluster.
	Timeout time.Duration
	// Out is where each step is reported.
	Out io.Writer
}

// Migration is the migration of one cluster.
type Migration struct {
	config   Config
	kube     kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	reviews  metacontroller.SyncReviewInterface
}

// New returns the migration of a cluster. It sends no request.
func New(config Config) (*Migration, error) {
	host := rest.CopyConfig(config.Host)
	host.QPS = -1                                      // the cluster's priority and fairness bounds it
	host.WarningHandlerWithContext = rest.NoWarnings{} // they are about what others made
	kube, ofKube := kubernetes.NewForConfig(host)
	dynamic, ofDynamic := dynamic.NewForConfig(host)
	metadata, ofMetadata := metadata.NewForConfig(host)
	own, ofServer := metacontroller.NewForConfig(host)
	if err := errors.Join(ofKube, ofDynamic, ofMetadata, ofServer); err != nil {
		return nil, fmt.Errorf("make clients of the cluster: %w", err)
	}
	return &Migration{config, kube, dynamic, metadata, own.SyncReviews()}, nil
}

// say reports what was done.
func (m *Migration) say(format string, args ...any) {
	fmt.Fprintf(m.config.Out, format+"\n", args...)
}

// pollInterval is how often the cluster is asked whether a change has taken effect.
const pollInterval = 50 * time.Millisecond

// until waits until check returns nil. The error of the last check says what did not happen.
func (m *Migration) until(ctx context.Context, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, m.config.Timeout, true, func(ctx context.Context) (bool,
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
	return fmt.Errorf("%s did not happen within %s: %w", what, m.config.Timeout, last)
}

// pause waits for a time.
func pause(ctx context.Context, period time.Duration) error {
	select {
	case <-time.After(period):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counted returns how many there are of something.
func counted(count int, of string) string {
	if count == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", count, of)
}
