// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"

	"github.com/spf13/cobra"
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

Objects are kept in an etcd inside the process, under --data-dir, or in the etcd of --etcd-servers. On the first
SIGTERM or SIGINT the process stops its controllers, finishes its requests and closes its storage; on a second one
it ends at once.

The commands "metacontroller-apiserver snapshot" and "metacontroller-apiserver storage" save, restore and move that
storage; --help says how.`

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

// applyToProcess applies the settings that the libraries hold for the whole process: feature gates,
// the log, and metrics.
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
