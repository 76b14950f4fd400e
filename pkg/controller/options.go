// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Config configures the controller loop.
type Config struct {
	// Host is the cluster that is extended. Parents and children live there.
	Host *rest.Config
	// Loopback is the API server of this process. It stores the controller objects.
	Loopback *rest.Config
	// Namespaces are those of the host; nil if no users read calls of hooks. The caller runs the informer.
	Namespaces cache.SharedInformer
	// Registration says whether controllers may run. The caller runs it.
	Registration *registration.Registration
	// Metrics registers the metrics of controllers while they run.
	Metrics prometheus.Registerer
	// Tracing traces syncs; nil if they are not traced. The caller must shut it down after the controllers have ended.
	Tracing trace.TracerProvider
	// Election elects the process that runs the controllers; nil if there are no others. Storage is the ID of the
	// storage.
	Election *leader.Election
	Storage  string
	// Handle gives access to the loop while it runs; nil if nothing needs it.
	Handle *Handle
	Options
}

// Options are the settings of the controller loop.
type Options struct {
	parentcontroller.Settings
	// Namespace is the server's own. It holds the ControllerRevisions of cluster-scoped parents.
	Namespace string
	// ParallelWrites is the maximum number of writes to the host at once in the entire process, ParallelWritesPerSync
	// the maximum for one parent. At least 1.
	ParallelWrites        int
	ParallelWritesPerSync int
	// TargetLabelSelector selects the controllers to run. Empty selects all.
	TargetLabelSelector string
	// Events limits the events that are written about one object.
	Events report.EventOptions
	// ApplyStrategy is how children are written if the rule of their type does not say it.
	// ApplyFieldManager is the field manager of server-side apply.
	ApplyStrategy     ApplyStrategy
	ApplyFieldManager string
	// Client limits the rate of requests to the host.
	Client ClientLimits
	// DiscoveryInterval is the interval at which the types in use are read from the host again. Most changes are
	// noticed without that, at once. Zero disables it.
	DiscoveryInterval time.Duration
	// Hooks are the limits of hooks.
	Hooks hook.Limits
}

// DeveloperEvents are the limits of events in the developer's mode: none that a person would reach.
func DeveloperEvents() report.EventOptions { return report.EventOptions{QPS: 1000, Burst: 100_000} }

// DefaultOptions returns the settings of a server without flags.
func DefaultOptions() Options {
	return Options{
		Settings:              parentcontroller.Settings{Workers: 5, CacheFlushInterval: 30 * time.Minute},
		ParallelWrites:        64,
		ParallelWritesPerSync: 16,
		Events:                report.EventOptions{QPS: 1. / 300, Burst: 25},
		ApplyStrategy:         DynamicApply,
		ApplyFieldManager:     host.FieldManager,
		DiscoveryInterval:     30 * time.Second,
		Hooks: hook.Limits{
			MaxResponseBytes: 32 << 20, MaxBytesInFlight: 64 << 20,
			Denied: hookaddress.DeniedByDefault(), Redirects: transport.SameHost,
		},
	}
}

// ApplyStrategy is the way to apply a child, by the name that flags use.
type ApplyStrategy string

const (
	// DynamicApply merges three ways. What was last applied is in an annotation.
	DynamicApply ApplyStrategy = "dynamic-apply"
	// ServerSideApply leaves the merge to the host.
	ServerSideApply ApplyStrategy = "server-side-apply"
)

func (s ApplyStrategy) engine() plan.Engine {
	if s == ServerSideApply {
		return plan.ServerSideApply
	}
	return plan.DynamicApply
}

// ClientLimits limit the rate of requests to the host, of all controllers together. Events have
// limits of their own.
type ClientLimits struct {
	// QPS is the maximum number of requests per second, on average. Zero means no limit.
	QPS float32
	// Burst is the maximum of requests at once. At least 1 if there is a limit.
	Burst int
}

// applyTo makes all clients of a configuration, and of its copies, share one limiter.
func (l ClientLimits) applyTo(config *rest.Config) {
	config.QPS, config.RateLimiter = -1, nil
	if l.QPS > 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(l.QPS, l.Burst)
	}
}
