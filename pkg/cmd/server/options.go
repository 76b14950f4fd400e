// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
)

const (
	defaultDataDir    = "/var/lib/metacontroller"
	defaultEtcdPrefix = "/metacontroller"
	defaultPort       = 6443

	// watchDrainTimeout bounds how long watches may take to end at shutdown. The server ends each in an orderly way so
	// that clients start a new one at another server instead of waiting for a broken connection.
	watchDrainTimeout = 10 * time.Second
)

// Settings of servers that share a storage. When one of them stops, the host can turn to another.
const (
	// shutdownDelay is the time for which a server still serves after it has announced that it stops: the time until
	// the host has taken it out of the endpoints. With a single server, waiting would only make the gap longer.
	shutdownDelay = 10 * time.Second
	// goawayChance is the probability with which the server responds to a request with GOAWAY so that the client
	// reconnects. Otherwise the host would keep its connections and send all its requests to one server.
	goawayChance = 0.001
)

// Options are the settings of the command.
type Options struct {
	// Recommended are the settings of any aggregated API server.
	Recommended *genericoptions.RecommendedOptions
	// ServerRun are limits on requests, and the way to shut down.
	ServerRun *genericoptions.ServerRunOptions
	// Storage is the directory of the embedded etcd.
	Storage *StorageOptions
	// Certificate holds the names in the certificate that the server makes for itself.
	Certificate *CertificateOptions
	// Controllers are the settings of the controller loop.
	Controllers *ControllerOptions
	// PlainHTTP are further listeners, without TLS and authentication.
	PlainHTTP *PlainHTTPOptions
	// Standalone serves the API without a host cluster, for development. No controllers run.
	Standalone bool

	Logs    *logsapi.LoggingConfiguration
	Metrics *metrics.Options

	// etcdServersGiven is true if the flag --etcd-servers was given, with servers or without.
	etcdServersGiven bool
	// parents lets admission warn of other controllers of the same parents.
	parents *admission.ParentIndex
}

// NewOptions returns the defaults.
func NewOptions() (*Options, error) {
	// There is one component, the API server library: its version is the Kubernetes version to emulate, and there are
	// no other feature gates.
	gates := utilfeature.DefaultMutableFeatureGate
	if _, known := gates.GetAll()[logsapi.ContextualLogging]; !known {
		if err := logsapi.AddFeatureGates(gates); err != nil {
			return nil, fmt.Errorf("adding the feature gates of the log: %w", err)
		}
	}
	registry := basecompatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(),
		gates); err != nil {
		return nil, fmt.Errorf("registering the feature gates: %w", err)
	}
	o := &Options{
		// The storage factory brings the codecs.
		Recommended: genericoptions.NewRecommendedOptions(defaultEtcdPrefix, nil),
		ServerRun:   genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, registry),
		Storage:     NewStorageOptions(),
		Certificate: NewCertificateOptions(),
		Controllers: NewControllerOptions(),
		PlainHTTP:   NewPlainHTTPOptions(),
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
	o.Recommended.SecureServing.ServerCert.PairName = "serving"
	// At shutdown, new requests get a 429 with a Retry-After header until the requests under way
	// are done.
	o.ServerRun.ShutdownSendRetryAfter = true
	o.ServerRun.ShutdownWatchTerminationGracePeriod = watchDrainTimeout
	return o, nil
}

// Complete fills in the settings that follow from others. changed reports whether a flag was given.
func (o *Options) Complete(changed func(flag string) bool) error {
	dataDir, err := filepath.Abs(o.Storage.DataDir)
	if err != nil {
		return fmt.Errorf("--data-dir %s: %w", o.Storage.DataDir, err)
	}
	if cert := &o.Recommended.SecureServing.ServerCert; cert.CertDirectory == "" {
		cert.CertDirectory = filepath.Join(dataDir, "pki")
	}
	o.etcdServersGiven = changed("etcd-servers")
	if !o.embedded() {
		if !changed("disable-http2-serving") {
			// The host loses requests when a server closes a connection of HTTP/2.
			o.Recommended.SecureServing.DisableHTTP2Serving = true
		}
		if !changed("shutdown-delay-duration") {
			o.ServerRun.ShutdownDelayDuration = shutdownDelay
		}
		if !changed("goaway-chance") {
			o.ServerRun.GoawayChance = goawayChance
		}
	}
	if err := o.Controllers.complete(changed, o.Certificate.ServiceNamespace); err != nil {
		return err
	}
	if o.Standalone {
		o.leaveHost()
		return nil
	}
	for _, kubeconfig := range []*string{
		&o.Recommended.Authentication.RemoteKubeConfigFile,
		&o.Recommended.Authorization.RemoteKubeConfigFile,
	} {
		if *kubeconfig == "" {
			*kubeconfig = o.Recommended.CoreAPI.CoreAPIKubeconfigPath
		}
	}
	return nil
}

// leaveHost turns off everything that asks the host.
func (o *Options) leaveHost() {
	o.Recommended.Authentication.SkipInClusterLookup = true
	o.Recommended.Authentication.RemoteKubeConfigFileOptional = true
	o.Recommended.Authorization.RemoteKubeConfigFileOptional = true
	o.Recommended.Features.EnablePriorityAndFairness = false
	o.Recommended.Admission = nil
}

// Validate returns all errors of completed options.
func (o *Options) Validate() error {
	var errs []error
	errs = append(errs, o.Storage.validate()...)
	errs = append(errs, o.validateExternalEtcd()...)
	errs = append(errs, o.Certificate.validate()...)
	errs = append(errs, o.Controllers.validate()...)
	errs = append(errs, o.PlainHTTP.validate()...)
	errs = append(errs, o.validateHost()...)
	errs = append(errs, o.Certificate.validateServing(o.Recommended.SecureServing.SecureServingOptions)...)
	errs = append(errs, o.recommended(o.etcdServers("embedded")).Validate()...)
	errs = append(errs, o.ServerRun.Validate()...)
	errs = append(errs, o.Metrics.Validate()...)
	return utilerrors.NewAggregate(errs)
}

func (o *Options) validateHost() []error {
	kubeconfig := o.Recommended.CoreAPI.CoreAPIKubeconfigPath
	inCluster := os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	switch {
	case o.Standalone && (kubeconfig != "" || inCluster):
		return []error{errors.New("--standalone is for development outside a cluster: it cannot be used inside one, or " +
			"with --kubeconfig")}
	case o.Standalone && o.Certificate.Secret != "":
		return []error{errors.New("--certificate-secret needs a cluster to keep the Secret, and --standalone has none")}
	case o.Standalone:
		return nil
	case kubeconfig == "" && !inCluster:
		return []error{errors.New("no cluster: --kubeconfig must name a kubeconfig file, unless this process runs in a " +
			"cluster")}
	case kubeconfig != "":
		if _, err := os.Stat(kubeconfig); err != nil {
			return []error{fmt.Errorf("--kubeconfig: %w", err)}
		}
	}
	return nil
}

// embedded reports whether the storage is inside this process.
func (o *Options) embedded() bool {
	return len(o.Recommended.Etcd.StorageConfig.Transport.ServerList) == 0
}

// validateExternalEtcd returns an error if it is not clear from the flags which etcd stores the objects. A server that
// used the embedded etcd by mistake would begin without objects.
func (o *Options) validateExternalEtcd() []error {
	certificates := o.etcdCertificates()
	switch {
	case o.etcdServersGiven && o.blankServers():
		return []error{errors.New("--etcd-servers is empty: specify the URLs of the etcd servers, or omit the flag to " +
			"use the embedded etcd")}
	case o.embedded() && len(certificates) > 0:
		return []error{fmt.Errorf("--etcd-servers is missing: specify the URLs of the etcd servers for %s, or also omit "+
			"these flags to use the embedded etcd", strings.Join(certificates, " and "))}
	case !o.embedded() && o.Storage.QuotaBytes != 0:
		return []error{errors.New("--etcd-quota-backend-bytes and --etcd-servers cannot be used together: omit the quota " +
			"here, and set it on the etcd servers")}
	}
	return nil
}

// blankServers reports whether --etcd-servers has no URL.
func (o *Options) blankServers() bool {
	return strings.TrimSpace(strings.Join(o.Recommended.Etcd.StorageConfig.Transport.ServerList, "")) == ""
}

// etcdCertificates returns the flags with the files of an external etcd that are set.
func (o *Options) etcdCertificates() []string {
	transport := o.Recommended.Etcd.StorageConfig.Transport
	var set []string
	for _, flag := range []struct{ name, value string }{
		{"--etcd-cafile", transport.TrustedCAFile},
		{"--etcd-certfile", transport.CertFile},
		{"--etcd-keyfile", transport.KeyFile},
	} {
		if flag.value != "" {
			set = append(set, flag.name)
		}
	}
	return set
}

// nameEtcd names the external etcd in a start error that says only that a deadline has passed. The log has the reason.
func (o *Options) nameEtcd(err error) error {
	if o.embedded() || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("the etcd of --etcd-servers=%s does not answer, or does not accept the certificate: %w",
		strings.Join(o.Recommended.Etcd.StorageConfig.Transport.ServerList, ","), err)
}
