// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// The flags whose defaults depend on other flags.
const (
	eventsQPSFlag   = "events-qps"
	eventsBurstFlag = "events-burst"
)

// defaultClientBurst is the default of --client-go-burst if requests are limited.
const defaultClientBurst = 10

// ControllerOptions are the settings of the controller loop. Flags have the same names and defaults as in
// Metacontroller, unless their help states another default.
type ControllerOptions struct {
	controller.Options
	// LeaderElection is true if the controllers run only while this process holds a Lease.
	LeaderElection bool
	// ResourceLock is the kind of object that leader election uses. LeaseNamespace and LeaseName name it.
	ResourceLock              string
	LeaseNamespace, LeaseName string
	// process names this process in the Lease.
	process string
	// HookDenyCIDRs is Hooks.Denied as the flag gives it.
	HookDenyCIDRs []string
}

// NewControllerOptions returns the defaults.
func NewControllerOptions() *ControllerOptions {
	options := controller.DefaultOptions()
	return &ControllerOptions{
		Options: options, LeaderElection: true,
		ResourceLock: resourcelock.LeasesResourceLock, LeaseName: "metacontroller-apiserver",
		HookDenyCIDRs: options.Hooks.Denied.Strings(),
	}
}

func (o *ControllerOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Workers, "workers", o.Workers, "Maximum number of concurrent syncs of one controller.")
	flags.IntVar(&o.ParallelWrites, "parallel-writes", o.ParallelWrites,
		"Maximum number of concurrent writes to the cluster, for all controllers together.")
	flags.IntVar(&o.ParallelWritesPerSync, "parallel-writes-per-sync", o.ParallelWritesPerSync,
		"Maximum number of concurrent writes to the cluster for one parent.")
	flags.StringVar(&o.TargetLabelSelector, "target-label-selector", o.TargetLabelSelector, "A label selector: the "+
		"server runs only CompositeControllers and DecoratorControllers that it matches. If empty, the server runs all "+
		"of them.")
	flags.DurationVar(&o.CacheFlushInterval, "cache-flush-interval", o.CacheFlushInterval,
		"Interval at which the server syncs all parents again, from the cache, in addition to any resyncPeriodSeconds. 0 "+
			"disables it.")
	flags.DurationVar(&o.DiscoveryInterval, "discovery-interval", o.DiscoveryInterval,
		"Interval at which the server reads the types in use from the cluster again. It notices changes of "+
			"CustomResourceDefinitions and APIServices immediately; the interval is for aggregated servers whose types "+
			"change under the same APIService. 0 disables it.")
	flags.Float32Var(&o.Client.QPS, "client-go-qps", o.Client.QPS,
		"Maximum number of requests per second to the cluster, on average, for all controllers together. 0 means no "+
			"limit. This is the default, unlike in Metacontroller, because the cluster's priority and fairness protects it, "+
			"and --parallel-writes limits concurrent writes.")
	flags.IntVar(&o.Client.Burst, "client-go-burst", o.Client.Burst,
		fmt.Sprintf("Maximum burst of requests, if --client-go-qps is set. Default: %d.", defaultClientBurst))
	flags.Float32Var(&o.Events.QPS, eventsQPSFlag, o.Events.QPS, "Maximum average number of events per second "+
		"about one object, for each kind of message.")
	flags.IntVar(&o.Events.Burst, eventsBurstFlag, o.Events.Burst,
		"Maximum burst of events about one object, for each kind of message.")
	flags.StringVar((*string)(&o.ApplyStrategy), "apply-strategy", string(o.ApplyStrategy),
		"How to apply children whose type does not set updateStrategy.apply: dynamic-apply or server-side-apply.")
	flags.StringVar(&o.ApplyFieldManager, "apply-strategy-ssa-field-manager", o.ApplyFieldManager,
		"The field manager that owns the fields of children with server-side apply.")
	flags.Int64Var(&o.Hooks.MaxResponseBytes, "hook-max-response-bytes", o.Hooks.MaxResponseBytes,
		"Maximum size of an answer of a hook in bytes. The server rejects larger answers.")
	flags.Int64Var(&o.Hooks.MaxBytesInFlight, "hook-max-bytes-in-flight", o.Hooks.MaxBytesInFlight,
		"Maximum size in bytes of the hook requests and answers that all syncs together hold in memory. All controllers "+
			"with service accounts in the same namespace together use at most half of that. Raise it together with the "+
			"memory limit: a sync takes several times the bytes of its answer.")
	flags.StringSliceVar(&o.HookDenyCIDRs, "hook-deny-cidrs", o.HookDenyCIDRs,
		"Comma-separated list of networks. The server calls no hooks in these networks. A value replaces the default, "+
			"which lists the addresses where clouds serve credentials; an empty value denies no network.")
	flags.StringVar((*string)(&o.Hooks.Redirects), "hook-redirects", string(o.Hooks.Redirects),
		"Redirects of hooks to follow: same-host, only to the host of the hook, on any port; or any-host, all redirects, "+
			"as Metacontroller does.")
	flags.BoolVar(&o.RequireServiceAccount, "require-service-account", o.RequireServiceAccount,
		"Reject new controllers without spec.serviceAccount, and changes to the spec of existing controllers without it. "+
			"Existing controllers keep running, with a warning.")
	flags.BoolVar(&o.DeveloperMode, "developer-mode", o.DeveloperMode,
		"For developing hooks: events without practical limits, about each warning and each error each time; whole "+
			"errors of hooks; a line in the log for each sync that changes something, for each field of an answer that the "+
			"server ignores, and for each call of a hook that takes more than half of its timeout.")
	flags.BoolVar(&o.LeaderElection, "leader-election", o.LeaderElection, "Run the controllers only while this process "+
		"holds a Lease in the cluster, so that only one of several replicas runs them. All replicas serve the API.")
	flags.StringVar(&o.ResourceLock, "leader-election-resource-lock", o.ResourceLock,
		"The resource to use for leader election. Only \"leases\" is possible.")
	flags.StringVar(&o.LeaseName, "leader-election-id", o.LeaseName, "The name of the Lease. Instances with another "+
		"--target-label-selector need a Lease of their own.")
	flags.StringVar(&o.LeaseNamespace, "leader-election-namespace", o.LeaseNamespace, "The namespace of the Lease. "+
		"Default: --service-namespace.")
}

// complete fills in the settings that depend on other options.
func (o *ControllerOptions) complete(changed func(flag string) bool, namespace string) error {
	if o.DeveloperMode {
		o.raiseEventLimits(changed)
	}
	o.Namespace = namespace
	if o.LeaseNamespace == "" {
		o.LeaseNamespace = namespace
	}
	if o.Client.QPS > 0 && o.Client.Burst == 0 {
		o.Client.Burst = defaultClientBurst
	}
	if denied, err := hookaddress.Parse(o.HookDenyCIDRs); err == nil { // validate returns the error
		o.Hooks.Denied = denied
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this process in the Lease: %w", err)
	}
	o.process = host
	return nil
}

// raiseEventLimits sets the limits of the developer mode, except for limits that flags set.
func (o *ControllerOptions) raiseEventLimits(changed func(flag string) bool) {
	raised := controller.DeveloperEvents()
	if !changed(eventsQPSFlag) {
		o.Events.QPS = raised.QPS
	}
	if !changed(eventsBurstFlag) {
		o.Events.Burst = raised.Burst
	}
}

func (o *ControllerOptions) validate() []error {
	var errs []error
	for flag, value := range map[string]int64{
		"workers":                  int64(o.Workers),
		"parallel-writes":          int64(o.ParallelWrites),
		"parallel-writes-per-sync": int64(o.ParallelWritesPerSync),
		"events-burst":             int64(o.Events.Burst),
		"hook-max-response-bytes":  o.Hooks.MaxResponseBytes,
		"hook-max-bytes-in-flight": o.Hooks.MaxBytesInFlight,
	} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("--%s must be at least 1, not %d", flag, value))
		}
	}
	if o.Events.QPS <= 0 {
		errs = append(errs, errors.New("--events-qps must be greater than 0"))
	}
	if o.Client.QPS < 0 || o.Client.Burst < 0 {
		errs = append(errs, errors.New("--client-go-qps and --client-go-burst must not be negative; 0 means no limit"))
	}
	if o.CacheFlushInterval < 0 || o.DiscoveryInterval < 0 {
		errs = append(errs, errors.New(
			"--cache-flush-interval and --discovery-interval must not be negative; 0 disables them"))
	}
	if o.ResourceLock != resourcelock.LeasesResourceLock {
		errs = append(errs, fmt.Errorf("--leader-election-resource-lock %q: only %q is possible", o.ResourceLock,
			resourcelock.LeasesResourceLock))
	}
	if _, err := hookaddress.Parse(o.HookDenyCIDRs); err != nil {
		errs = append(errs, fmt.Errorf("--hook-deny-cidrs: %w", err))
	}
	if o.Hooks.Redirects != transport.SameHost && o.Hooks.Redirects != transport.AnyHost {
		errs = append(errs, fmt.Errorf("--hook-redirects must be %s or %s, not %q",
			transport.SameHost, transport.AnyHost, o.Hooks.Redirects))
	}
	if _, err := labels.Parse(o.TargetLabelSelector); err != nil {
		errs = append(errs, fmt.Errorf("--target-label-selector: %w", err))
	}
	if o.ApplyStrategy != controller.DynamicApply && o.ApplyStrategy != controller.ServerSideApply {
		errs = append(errs, fmt.Errorf("--apply-strategy must be %s or %s, not %q", controller.DynamicApply,
			controller.ServerSideApply, o.ApplyStrategy))
	}
	if o.ApplyFieldManager == "" || len(metav1validation.ValidateFieldManager(o.ApplyFieldManager, nil)) > 0 {
		errs = append(errs, fmt.Errorf("--apply-strategy-ssa-field-manager must be 1 to %d printable characters, not %q",
			metav1validation.FieldManagerMaxLength, o.ApplyFieldManager))
	}
	if o.LeaderElection {
		for _, reason := range validation.IsDNS1123Subdomain(o.LeaseName) {
			errs = append(errs, fmt.Errorf("--leader-election-id %q: %s", o.LeaseName, reason))
		}
		for _, reason := range validation.IsDNS1123Label(o.LeaseNamespace) {
			errs = append(errs, fmt.Errorf("--leader-election-namespace %q: %s", o.LeaseNamespace, reason))
		}
	}
	return errs
}
