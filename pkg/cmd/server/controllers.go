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
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
)

// leaderElectionFlag is looked up where its default depends on another flag.
const leaderElectionFlag = "leader-election"

// ControllerOptions are the settings of the controller loop. Flags have the names and defaults of Metacontroller.
type ControllerOptions struct {
	controller.Options
}

// NewControllerOptions returns the defaults.
func NewControllerOptions() *ControllerOptions {
	return &ControllerOptions{controller.DefaultOptions()}
}

func (o *ControllerOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Workers, "workers", o.Workers, "How many parents of one controller are synced at once.")
	flags.IntVar(&o.ParallelWrites, "parallel-writes", o.ParallelWrites, "How many writes to the host cluster may be under way "+
		"at once, of all controllers together.")
	flags.IntVar(&o.ParallelWritesPerSync, "parallel-writes-per-sync", o.ParallelWritesPerSync, "How many writes to the host cluster "+
		"may be under way at once for one parent.")
	flags.StringVar(&o.TargetLabelSelector, "target-label-selector", o.TargetLabelSelector, "A label selector: only "+
		"CompositeControllers and DecoratorControllers that it matches are run. If empty, all are.")
	flags.Float32Var(&o.Events.QPS, "events-qps", o.Events.QPS, "How many events a second are written about one object in the long run.")
	flags.IntVar(&o.Events.Burst, "events-burst", o.Events.Burst, "How many events may be written about one object at once.")
	flags.StringVar((*string)(&o.ApplyStrategy), "apply-strategy", string(o.ApplyStrategy), "How children are written whose type "+
		"does not say it in updateStrategy.apply: dynamic-apply or server-side-apply.")
	flags.StringVar(&o.ApplyFieldManager, "apply-strategy-ssa-field-manager", o.ApplyFieldManager, "The field manager under which "+
		"server-side apply owns the fields of children.")
	flags.Int64Var(&o.HookMaxResponseBytes, "hook-max-response-bytes", o.HookMaxResponseBytes, "The size in bytes above which the "+
		"answer of a hook is refused.")
	flags.BoolVar(&o.LeaderElection.Enabled, leaderElectionFlag, o.LeaderElection.Enabled, "Run controllers only in the one process "+
		"that holds a Lease of the host cluster; all processes serve the API. Default: true with --etcd-servers, where several "+
		"processes can share a storage, else false.")
	flags.StringVar(&o.LeaderElection.Name, "leader-election-id", o.LeaderElection.Name, "The name of the Lease.")
	flags.StringVar(&o.LeaderElection.Namespace, "leader-election-namespace", o.LeaderElection.Namespace, "The namespace of the Lease. "+
		"Default: --service-namespace.")
}

// complete fills in what depends on the other options.
func (o *ControllerOptions) complete(changed func(flag string) bool, embedded bool, namespace string) error {
	if !changed(leaderElectionFlag) {
		o.LeaderElection.Enabled = !embedded
	}
	if o.LeaderElection.Namespace == "" {
		o.LeaderElection.Namespace = namespace
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this process for the leader election: %w", err)
	}
	// A process that is started anew on the same host is another one.
	o.LeaderElection.Identity = host + "_" + string(uuid.NewUUID())
	return nil
}

func (o *ControllerOptions) validate() []error {
	var errs []error
	for flag, value := range map[string]int64{
		"workers":                  int64(o.Workers),
		"parallel-writes":          int64(o.ParallelWrites),
		"parallel-writes-per-sync": int64(o.ParallelWritesPerSync),
		"events-burst":             int64(o.Events.Burst),
		"hook-max-response-bytes":  o.HookMaxResponseBytes,
	} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("--%s must be at least 1, not %d", flag, value))
		}
	}
	if o.Events.QPS <= 0 {
		errs = append(errs, errors.New("--events-qps must be greater than 0"))
	}
	if _, err := labels.Parse(o.TargetLabelSelector); err != nil {
		errs = append(errs, fmt.Errorf("--target-label-selector: %w", err))
	}
	if o.ApplyStrategy != controller.DynamicApply && o.ApplyStrategy != controller.ServerSideApply {
		errs = append(errs, fmt.Errorf("--apply-strategy must be %s or %s, not %q", controller.DynamicApply, controller.ServerSideApply, o.ApplyStrategy))
	}
	if o.ApplyFieldManager == "" || len(metav1validation.ValidateFieldManager(o.ApplyFieldManager, nil)) > 0 {
		errs = append(errs, fmt.Errorf("--apply-strategy-ssa-field-manager must be 1 to %d printable characters, not %q",
			metav1validation.FieldManagerMaxLength, o.ApplyFieldManager))
	}
	if o.LeaderElection.Enabled {
		for _, reason := range validation.IsDNS1123Subdomain(o.LeaderElection.Name) {
			errs = append(errs, fmt.Errorf("--leader-election-id %q: %s", o.LeaderElection.Name, reason))
		}
		for _, reason := range validation.IsDNS1123Label(o.LeaderElection.Namespace) {
			errs = append(errs, fmt.Errorf("--leader-election-namespace %q: %s", o.LeaderElection.Namespace, reason))
		}
	}
	return errs
}
