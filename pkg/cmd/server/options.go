// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"time"

	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
)

const (
	defaultDataDir    = "/var/lib/metacontroller"
	defaultEtcdPrefix = "/metacontroller"
	defaultPort       = 6443

	// watchDrainTimeout is how long watches may take to end at shutdown. Each is told to, so that clients start a new one
	// elsewhere and do not find out by a broken connection.
	watchDrainTimeout = 10 * time.Second
)

// Options are the settings of the command.
type Options struct {
	// Recommended are those of any aggregated API server.
	Recommended *genericoptions.RecommendedOptions
	// ServerRun are limits on requests, and the way to shut down.
	ServerRun *genericoptions.ServerRunOptions
	// Storage is where objects are kept.
	Storage *StorageOptions
	// Certificate is for whom the certificate is that the server makes for itself.
	Certificate *CertificateOptions
	// Controllers are the settings of the controller loop.
	Controllers *ControllerOptions
	// Plain are further listeners, without TLS and authentication.
	Plain *PlainOptions
	// Standalone serves the API without a host cluster, for development. No controllers run.
	Standalone bool

	Logs    *logsapi.LoggingConfiguration
	Metrics *metrics.Options

	// parents is what admission warns of other controllers of the same parents by.
	parents *admission.ParentIndex
}

// NewOptions returns the defaults.
func NewOptions() (*Options, error) {
	// One component, the library that we are built of: its version is the one of Kubernetes to emulate, and its feature
	// gates are the only ones there are.
	gates := utilfeature.DefaultMutableFeatureGate
	if _, known := gates.GetAll()[logsapi.ContextualLogging]; !known {
		if err := logsapi.AddFeatureGates(gates); err != nil {
			return nil, fmt.Errorf("adding the feature gates of the log: %w", err)
		}
	}
	registry := basecompatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(), gates); err != nil {
		return nil, fmt.Errorf("registering the feature gates: %w", err)
	}
	o := &Options{
		// The storage factory brings the codecs.
		Recommended: genericoptions.NewRecommendedOptions(defaultEtcdPrefix, nil),
		ServerRun:   genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, registry),
		Storage:     NewStorageOptions(),
		Certificate: NewCertificateOptions(),
		Controllers: NewControllerOptions(),
		Plain:       NewPlainOptions(),
		Logs:        logsapi.NewLoggingConfiguration(),
		Metrics:     metrics.NewOptions(),
		parents:     &admission.ParentIndex{},
	}
	o.Recommended.EgressSelector = nil
	o.Recommended.ExtraAdmissionInitializers = initializeAdmission
	o.addAdmissionPlugins()
	o.Recommended.SecureServing.BindPort = defaultPort
	o.Recommended.SecureServing.Required = true
	o.Recommended.SecureServing.ServerCert.CertDirectory = ""
	// At shutdown, requests are refused with a 429 that says when to come again until those under way are done.
	o.ServerRun.ShutdownSendRetryAfter = true
	o.ServerRun.ShutdownWatchTerminationGracePeriod = watchDrainTimeout
	return o, nil
}

// Flags returns the flags in the sections in which help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	o.addHostFlags(sections.FlagSet("host cluster"))
	o.Storage.addFlags(sections.FlagSet("storage"))
	o.addEtcdFlags(sections.FlagSet("storage"))
	o.addServingFlags(sections.FlagSet("secure serving"))
	o.Certificate.addFlags(sections.FlagSet("secure serving"))
	o.Plain.addFlags(sections.FlagSet("plain serving"))
	o.Controllers.addFlags(sections.FlagSet("controllers"))
	o.Recommended.Authentication.AddFlags(sections.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sections.FlagSet("authorization"))
	o.Recommended.Admission.AddFlags(sections.FlagSet("admission"))
	o.Recommended.Audit.AddFlags(sections.FlagSet("audit"))
	o.Recommended.Features.AddFlags(sections.FlagSet("features"))
	o.ServerRun.AddUniversalFlags(sections.FlagSet("requests and shutdown"))
	o.Recommended.Traces.AddFlags(sections.FlagSet("traces"))
	addExcept(sections.FlagSet("metrics"), o.Metrics.AddFlags,
		"allow-metric-labels", "allow-metric-labels-manifest") // for metrics by users' labels, which there are none of
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// embedded says whether the storage is inside this process.
func (o *Options) embedded() bool {
	return len(o.Recommended.Etcd.StorageConfig.Transport.ServerList) == 0
}
