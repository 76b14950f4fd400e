// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Settings of servers that share a storage, of which the host can turn to another when one stops.
const (
	// shutdownDelay is how long a server goes on serving after it has said that it will stop: the time until the host has
	// taken it out of the endpoints. Where there is only one, waiting would make the gap longer.
	shutdownDelay = 10 * time.Second
	// goawayChance is how often a client is asked to connect anew. Otherwise the host keeps one connection, and so all
	// its requests, with one server for ever.
	goawayChance = 0.001
)

// Complete fills in what follows from other options. changed says whether a flag was given.
func (o *Options) Complete(changed func(flag string) bool) error {
	dataDir, err := filepath.Abs(o.Storage.DataDir)
	if err != nil {
		return fmt.Errorf("--data-dir %s: %w", o.Storage.DataDir, err)
	}
	if cert := &o.Recommended.SecureServing.ServerCert; cert.CertDirectory == "" {
		cert.CertDirectory = filepath.Join(dataDir, "pki")
	}
	if !o.embedded() {
		if !changed("shutdown-delay-duration") {
			o.ServerRun.ShutdownDelayDuration = shutdownDelay
		}
		if !changed("goaway-chance") {
			o.ServerRun.GoawayChance = goawayChance
		}
	}
	if err := o.Controllers.complete(changed, o.embedded(), o.Certificate.ServiceNamespace); err != nil {
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

// leaveHost turns off all that asks the host.
func (o *Options) leaveHost() {
	o.Recommended.Authentication.SkipInClusterLookup = true
	o.Recommended.Authentication.RemoteKubeConfigFileOptional = true
	o.Recommended.Authorization.RemoteKubeConfigFileOptional = true
	o.Recommended.Features.EnablePriorityAndFairness = false
	o.Recommended.Admission = nil
}

// Validate returns everything that is wrong with completed options, nil if nothing is.
func (o *Options) Validate() error {
	var errs []error
	errs = append(errs, o.Storage.validate()...)
	errs = append(errs, o.Certificate.validate()...)
	errs = append(errs, o.Controllers.validate()...)
	errs = append(errs, o.Plain.validate()...)
	errs = append(errs, o.validateHost()...)
	errs = append(errs, validateServing(o.Recommended.SecureServing.SecureServingOptions)...)
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
		return []error{errors.New("--standalone is for development outside a cluster: it cannot be used inside one, or with --kubeconfig")}
	case o.Standalone:
		return nil
	case kubeconfig == "" && !inCluster:
		return []error{errors.New("no host cluster: --kubeconfig must name a kubeconfig file, unless this process runs in a cluster")}
	case kubeconfig != "":
		if _, err := os.Stat(kubeconfig); err != nil {
			return []error{fmt.Errorf("--kubeconfig: %w", err)}
		}
	}
	return nil
}
