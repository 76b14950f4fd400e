// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"github.com/spf13/pflag"
)

func (o *Options) addHostFlags(flags *pflag.FlagSet) {
	o.Recommended.CoreAPI.AddFlags(flags)
	flags.Lookup("kubeconfig").Usage = "The kubeconfig file of the host cluster, the one to be extended. If empty, it is the " +
		"cluster that this process runs in. --authentication-kubeconfig and --authorization-kubeconfig default to it."
	flags.BoolVar(&o.Standalone, "standalone", o.Standalone, "Serve the API without a host cluster, for development: "+
		"no controllers, no admission webhooks or policies, and only those with a certificate of --client-ca-file "+
		"for the group system:masters may do anything.")
}

func (o *Options) addEtcdFlags(flags *pflag.FlagSet) {
	addExcept(flags, o.Recommended.Etcd.AddFlags,
		"storage-backend", "storage-media-type", // there is but one: JSON in etcd
		"default-watch-cache-size") // means nothing any more
	flags.Lookup("etcd-servers").Usage = "The URLs of the etcd servers to keep objects in, comma separated. " +
		"If empty, an etcd runs inside this process and keeps its data under --data-dir."
}

func (o *Options) addServingFlags(flags *pflag.FlagSet) {
	o.Recommended.SecureServing.AddFlags(flags)
	flags.Lookup("cert-dir").Usage = "The directory of the certificate that the server makes for itself if --tls-cert-file and " +
		"--tls-private-key-file are not given, and of the authority (ca.crt, ca.key) that signs it and stays the same; " +
		"an authority that is there already is used. Default: pki under --data-dir."
	flags.Lookup("tls-min-version").Usage = "The lowest version of TLS to speak: VersionTLS12 (default) or VersionTLS13."
	flags.Lookup("tls-cert-file").Usage = "The certificate to serve with, followed by those of intermediate authorities. " +
		"It is read again when it changes. If empty, the server makes a certificate for itself, see --cert-dir."
}

// addExcept adds what add adds, without the flags that mean nothing here.
func addExcept(flags *pflag.FlagSet, add func(*pflag.FlagSet), except ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(except, flag.Name) {
			flags.AddFlag(flag)
		}
	})
}
