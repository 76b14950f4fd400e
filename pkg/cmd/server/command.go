// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics"

	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

const description = `Serves the API group metacontroller.k8s.io through the aggregation layer of a Kubernetes cluster, and runs
the controllers that its objects describe.

The server stores objects in an embedded etcd, under --data-dir, or in the etcd servers of --etcd-servers. On the
first SIGTERM or SIGINT, it stops its controllers, finishes its requests and closes its storage. On the second signal,
it exits immediately.

To save and restore the embedded etcd, see "metacontroller-apiserver snapshot --help".`

// NewCommand returns the command that runs a server until the process gets a signal to stop.
func NewCommand() (*cobra.Command, error) {
	options, err := NewOptions()
	if err != nil {
		return nil, err
	}
	command := &cobra.Command{
		Use:     "metacontroller-apiserver",
		Short:   "Write Kubernetes controllers as small webhooks",
		Long:    description,
		Version: version.Get().String(),
		Args:    cobra.NoArgs,
		// Help is long and would hide the error.
		SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return options.applyToProcess()
		},
		RunE: func(command *cobra.Command, _ []string) error {
			cliflag.PrintFlags(command.Flags())
			if err := options.Complete(command.Flags().Changed); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(genericapiserver.SetupSignalContext())
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return explainFlag(err) })
	command.SetVersionTemplate("{{.Name}} {{.Version}}\n")

	sections := options.Flags()
	global := sections.FlagSet("global")
	globalflag.AddGlobalFlags(global, command.Name(), logs.SkipLoggingConfigurationFlags())
	global.Bool("version", false, "print the version and quit")
	for _, flags := range sections.FlagSets {
		command.Flags().AddFlagSet(flags)
	}
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width = 0 // no terminal, so no wrapping
	}
	cliflag.SetUsageAndHelpFunc(command, sections, width)
	return command, nil
}

// applyToProcess applies the settings that the libraries hold for the entire process: feature gates, the log, and
// metrics.
func (o *Options) applyToProcess() error {
	if err := o.ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(o.Logs, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	if o.Metrics.ShowHiddenMetricsForVersion != "" {
		metrics.SetShowHidden()
	}
	metrics.SetDisabledMetrics(o.Metrics.DisabledMetrics)
	return nil
}

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
	flags.Lookup("kubeconfig").Usage = "The kubeconfig file of the cluster that the server extends. If empty, the " +
		"server extends the cluster that it runs in. --authentication-kubeconfig and --authorization-kubeconfig default " +
		"to this file."
	flags.BoolVar(&o.Standalone, "standalone", o.Standalone, "Serve the API without a cluster, for development: no "+
		"controllers, no admission webhooks or policies, and access only for clients with a certificate of "+
		"--client-ca-file for the group system:masters.")
}

func (o *Options) addEtcdFlags(flags *pflag.FlagSet) {
	addExcept(flags, o.Recommended.Etcd.AddFlags,
		"storage-backend", "storage-media-type", // there is only one: JSON in etcd
		"default-watch-cache-size") // has no effect
	flags.Lookup("etcd-servers").Usage = "Comma-separated list of the URLs of the etcd servers that store the objects. " +
		"Without this flag, the server runs an embedded etcd, which stores its data under --data-dir."
}

func (o *Options) addServingFlags(flags *pflag.FlagSet) {
	o.Recommended.SecureServing.AddFlags(flags)
	flags.Lookup("cert-dir").Usage = "The directory of the self-signed certificate that the server creates if neither " +
		"--certificate-secret nor --tls-cert-file is set: serving.crt, with its authority, and serving.key. The " +
		"certificate is valid for a year, and the server uses it as long as the files exist. Default: pki under --data-dir."
	flags.Lookup("tls-min-version").Usage = "Minimum TLS version: VersionTLS12 (default) or VersionTLS13."
	flags.Lookup("tls-cert-file").Usage = "File with the serving certificate, followed by intermediate certificates. " +
		"The server reloads it when it changes. If empty, the server creates a certificate for itself, see --cert-dir."
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
	const logging = "use the log flags of Kubernetes components; "
	return map[string]string{
		"zap-log-level": logging + "use -v with the same number (-v=4 logs syncs, -v=6 logs the requests and answers of " +
			"hooks), or nothing for info and error",
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
