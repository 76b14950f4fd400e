// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// Flags returns the flags in the sections that help shows them in.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	o.addHostFlags(sections.FlagSet("cluster"))
	o.Storage.addFlags(sections.FlagSet("storage"))
	o.addEtcdFlags(sections.FlagSet("storage"))
	o.addServingFlags(sections.FlagSet("secure serving"))
	o.Certificate.addFlags(sections.FlagSet("secure serving"))
	o.PlainHTTP.addFlags(sections.FlagSet("plain serving"))
	o.Controllers.addFlags(sections.FlagSet("controllers"))
	o.Recommended.Authentication.AddFlags(sections.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sections.FlagSet("authorization"))
	o.Recommended.Admission.AddFlags(sections.FlagSet("admission"))
	o.Recommended.Audit.AddFlags(sections.FlagSet("audit"))
	o.Recommended.Features.AddFlags(sections.FlagSet("features"))
	o.ServerRun.AddUniversalFlags(sections.FlagSet("requests and shutdown"))
	o.Recommended.Traces.AddFlags(sections.FlagSet("traces"))
	addExcept(sections.FlagSet("metrics"), o.Metrics.AddFlags,
		"allow-metric-labels", "allow-metric-labels-manifest") // no metric has labels of users
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

func (o *Options) addHostFlags(flags *pflag.FlagSet) {
	o.Recommended.CoreAPI.AddFlags(flags)
	flags.Lookup("kubeconfig").Usage = "The kubeconfig file of the cluster, the one to be extended. If empty, it is the " +
		"cluster that this process runs in. --authentication-kubeconfig and --authorization-kubeconfig default to it."
	flags.BoolVar(&o.Standalone, "standalone", o.Standalone, "Serve the API without a cluster, for development: "+
		"no controllers, no admission webhooks or policies, and only those with a certificate of --client-ca-file "+
		"for the group system:masters may do anything.")
}

func (o *Options) addEtcdFlags(flags *pflag.FlagSet) {
	addExcept(flags, o.Recommended.Etcd.AddFlags,
		"storage-backend", "storage-media-type", // there is only one: JSON in etcd
		"default-watch-cache-size") // means nothing any more
	flags.Lookup("etcd-servers").Usage = "The URLs of the etcd servers to keep objects in, comma separated. " +
		"Without this flag, an etcd runs inside this process and keeps its data under --data-dir."
}

func (o *Options) addServingFlags(flags *pflag.FlagSet) {
	o.Recommended.SecureServing.AddFlags(flags)
	flags.Lookup("cert-dir").Usage = "The directory of the certificate that the server signs for itself if neither " +
		"--certificate-secret nor --tls-cert-file is given: serving.crt, with its authority, and serving.key. It is valid " +
		"for a year and used as long as the files exist. Default: pki under --data-dir."
	flags.Lookup("tls-min-version").Usage = "The lowest version of TLS to speak: VersionTLS12 (default) or VersionTLS13."
	flags.Lookup("tls-cert-file").Usage = "The certificate to serve with, followed by those of intermediate authorities. " +
		"It is read again when it changes. If empty, the server makes a certificate for itself, see --cert-dir."
}

// addExcept adds the flags that add adds, except the ones with the names in except.
func addExcept(flags *pflag.FlagSet, add func(*pflag.FlagSet), except ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(except, flag.Name) {
			flags.AddFlag(flag)
		}
	})
}

// removedFlags returns the flags of Metacontroller that this server does not have, and what to do
// instead of each.
func removedFlags() map[string]string {
	const logging = "logs are those of Kubernetes components; "
	return map[string]string{
		"zap-log-level":        logging + "use -v with the same number (-v=4 tells about syncs, -v=6 shows what hooks are sent and answer), or nothing for info and error",
		"zap-encoder":          logging + "use --logging-format=json or --logging-format=text",
		"zap-devel":            logging + "leave it out, and use -v=4 to see more",
		"zap-stacktrace-level": logging + "leave it out",
		"zap-time-encoding":    logging + "leave it out",
	}
}

// explainFlag adds to an error about a flag what to do about it.
func explainFlag(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if instead := removedFlags()[unknown.GetSpecifiedName()]; instead != "" {
			return fmt.Errorf("%w: %s", err, instead)
		}
	}
	return fmt.Errorf("%w; --help lists the flags", err)
}
