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

// ControllerOptions are the settings of the controller loop. Flags have the names of
// Metacontroller's, and the same defaults unless their help says otherwise.
type ControllerOptions struct {
	controller.Options
	// LeaderElection is true if the controllers run only while this process holds a Lease.
	LeaderElection bool
	// ResourceLock is the kind of object that leader election uses. LeaseNamespace and LeaseName name it.
	ResourceLock              string
	LeaseNamespace, LeaseName string
	// process names this process in the Lease.
	process string
	// HookDenyCIDRs is HookDenied as the flag gives it.
	HookDenyCIDRs []string
}

// NewControllerOptions returns the defaults.
func NewControllerOptions() *ControllerOptions {
	options := controller.DefaultOptions()
	return &ControllerOptions{
		Options: options, LeaderElection: true,
		ResourceLock: resourcelock.LeasesResourceLock, LeaseName: "metacontroller-apiserver",
		HookDenyCIDRs: options.HookDenied.Strings(),
	}
}

func (o *ControllerOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Workers, "workers", o.Workers, "How many parents of one controller are synced at once.")
	flags.IntVar(&o.ParallelWrites, "parallel-writes", o.ParallelWrites,
		"How many writes to the cluster may be under way "+
			"at once, of all controllers together.")
	flags.IntVar(&o.ParallelWritesPerSync, "parallel-writes-per-sync", o.ParallelWritesPerSync,
		"How many writes to the cluster "+
			"may be under way at once for one parent.")
	flags.StringVar(&o.TargetLabelSelector, "target-label-selector", o.TargetLabelSelector, "A label selector: only "+
		"CompositeControllers and DecoratorControllers that it matches are run. If empty, all are.")
	flags.DurationVar(&o.CacheFlushInterval, "cache-flush-interval", o.CacheFlushInterval,
		"How often all parents are synced again, "+
			"from the cache. A resyncPeriodSeconds holds beside it, also if it is longer. 0 is never.")
	flags.DurationVar(&o.DiscoveryInterval, "discovery-interval", o.DiscoveryInterval,
		"How often the types in use are read from the "+
			"cluster again. Changes of CustomResourceDefinitions and APIServices are noticed at once; this is for aggregated "+
			"servers "+
			"that come to serve other types under the same APIService. 0 is never.")
	flags.Float32Var(&o.Client.QPS, "client-go-qps", o.Client.QPS,
		"How many requests a second there may be to the cluster in the "+
			"long run, for the work of all controllers together. 0 is no limit, which is the default, unlike "+
			"Metacontroller's: the "+
			"cluster's priority and fairness share it out, and --parallel-writes bounds what is under way.")
	flags.IntVar(&o.Client.Burst, "client-go-burst", o.Client.Burst,
		fmt.Sprintf("With --client-go-qps, how many requests there may be "+
			"at once. Default: %d.", defaultClientBurst))
	flags.Float32Var(&o.Events.QPS, eventsQPSFlag, o.Events.QPS, "How many events a second with messages of one kind "+
		"are written about one object in the long run.")
	flags.IntVar(&o.Events.Burst, eventsBurstFlag, o.Events.Burst,
		"How many events with messages of one kind may be written about "+
			"one object at once.")
	flags.StringVar((*string)(&o.ApplyStrategy), "apply-strategy", string(o.ApplyStrategy),
		"How children are written whose type "+
			"does not say it in updateStrategy.apply: dynamic-apply or server-side-apply.")
	flags.StringVar(&o.ApplyFieldManager, "apply-strategy-ssa-field-manager", o.ApplyFieldManager,
		"The field manager under which "+
			"server-side apply owns the fields of children.")
	flags.Int64Var(&o.HookMaxResponseBytes, "hook-max-response-bytes", o.HookMaxResponseBytes,
		"The size in bytes above which the "+
			"answer of a hook is refused.")
	flags.Int64Var(&o.HookMaxBytesInFlight, "hook-max-bytes-in-flight", o.HookMaxBytesInFlight,
		"How many bytes of requests and answers of hooks all syncs together have in memory at once. The controllers with "+
			"service accounts of one namespace have at most half of them. Raise it with the memory limit: a sync takes "+
			"several times the bytes of its answer.")
	flags.StringSliceVar(&o.HookDenyCIDRs, "hook-deny-cidrs", o.HookDenyCIDRs,
		"Networks that hooks may not be in, comma separated. "+
			"What is given replaces the default, the addresses where clouds give out credentials; empty denies none.")
	flags.StringVar((*string)(&o.HookRedirects), "hook-redirects", string(o.HookRedirects),
		"Which redirects of hooks are followed: "+
			"same-host, those to the host of the hook, with any port; or any-host, as Metacontroller does.")
	flags.BoolVar(&o.RequireServiceAccount, "require-service-account", o.RequireServiceAccount,
		"Refuse new controllers without a "+
			"spec.serviceAccount, and changes of the spec of those that have none. Controllers that are stored already go "+
			"on, with a warning.")
	flags.BoolVar(&o.DeveloperMode, "developer-mode", o.DeveloperMode,
		"For the time in which hooks are written: events without "+
			"practical limits, about each warning and each error each time; whole errors of hooks; a line in the log for "+
			"each sync that "+
			"changes something, for each field of an answer that is ignored, and for each call of a hook that takes more "+
			"than half of its timeout.")
	flags.BoolVar(&o.LeaderElection, "leader-election", o.LeaderElection, "Run the controllers only while this "+
		"process holds a Lease of the cluster, so that one of several processes does. All of them serve the API.")
	flags.StringVar(&o.ResourceLock, "leader-election-resource-lock", o.ResourceLock,
		"The kind of object to hold. Only \"leases\" is possible.")
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
		o.HookDenied = denied
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this process in the Lease: %w", err)
	}
	o.process = host
	return nil
}

// raiseEventLimits sets the limits of the developer's mode, except those that were given.
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
		"hook-max-response-bytes":  o.HookMaxResponseBytes,
		"hook-max-bytes-in-flight": o.HookMaxBytesInFlight,
	} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("--%s must be at least 1, not %d", flag, value))
		}
	}
	if o.Events.QPS <= 0 {
		errs = append(errs, errors.New("--events-qps must be greater than 0"))
	}
	if o.Client.QPS < 0 || o.Client.Burst < 0 {
		errs = append(errs, errors.New("--client-go-qps and --client-go-burst must not be negative; 0 is no limit"))
	}
	if o.CacheFlushInterval < 0 || o.DiscoveryInterval < 0 {
		errs = append(errs, errors.New("--cache-flush-interval and --discovery-interval must not be negative; 0 is never"))
	}
	if o.ResourceLock != resourcelock.LeasesResourceLock {
		errs = append(errs, fmt.Errorf("--leader-election-resource-lock %q: only %q is possible", o.ResourceLock,
			resourcelock.LeasesResourceLock))
	}
	if _, err := hookaddress.Parse(o.HookDenyCIDRs); err != nil {
		errs = append(errs, fmt.Errorf("--hook-deny-cidrs: %w", err))
	}
	if o.HookRedirects != transport.SameHost && o.HookRedirects != transport.AnyHost {
		errs = append(errs, fmt.Errorf("--hook-redirects must be %s or %s, not %q",
			transport.SameHost, transport.AnyHost, o.HookRedirects))
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
