// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate has the command that moves a cluster from Metacontroller to this server, and back.
package migrate

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/migration"
)

const description = `Moves the CompositeControllers, DecoratorControllers and ControllerRevisions of a cluster from the
CustomResourceDefinitions of Metacontroller to this server, and back. During a step, the cluster rejects
writes to these objects for some seconds. You can repeat a step that was interrupted. A step that fails
undoes its changes.

The server must run in the cluster: see docs/migrate.md.`

// options are the flags of the command.
type options struct {
	kubeconfig, context string
	migration.Config
}

// NewCommand returns the command with a subcommand for each step.
func NewCommand() *cobra.Command {
	o := options{}
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Move a cluster from Metacontroller to this server, and back",
		Long:  description,
		Example: `  metacontroller-apiserver migrate check
  metacontroller-apiserver migrate switch`,
		// These commands have no flags of the server.
		PersistentPreRun: func(*cobra.Command, []string) {},
		SilenceUsage:     true,
	}
	plain := &cobra.Command{}
	command.SetUsageFunc(plain.UsageFunc())
	command.SetHelpFunc(plain.HelpFunc())
	command.SetFlagErrorFunc(plain.FlagErrorFunc())
	o.addFlags(command)
	for _, step := range steps() {
		command.AddCommand(&cobra.Command{
			Use: step.name, Short: step.short, Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error { return o.run(command, step.do) },
		})
	}
	return command
}

// step is a step of the migration.
type step struct {
	name, short string
	do          func(*migration.Migration, context.Context) error
}

func steps() []step {
	return []step{
		{"check", "Show problems that block the migration, and the changes that it will make", (*migration.Migration).Check},
		{"switch", "Move everything to the server", (*migration.Migration).Switch},
		{"finish", "Remove the CustomResourceDefinitions with the copies in them", (*migration.Migration).Finish},
		{"back", "Move everything to the CustomResourceDefinitions, at any time", (*migration.Migration).Back},
	}
}

func (o *options) addFlags(command *cobra.Command) {
	flags := command.PersistentFlags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "The kubeconfig of the cluster. If empty, the command uses the "+
		"kubeconfig of $KUBECONFIG, or the ServiceAccount of its Pod.")
	flags.StringVar(&o.context, "context", "", "The context to use from the kubeconfig.")
	flags.StringVar(&o.Service.Name, "service-name", "metacontroller-apiserver",
		"The name of the Service of the server.")
	flags.StringVar(&o.Service.Namespace, "service-namespace", "metacontroller", "The namespace of that Service.")
	flags.Int32Var(&o.Port, "service-port", 443, "The port of that Service.")
	flags.StringVar(&o.Original, "original", "", "The workload of Metacontroller, as statefulset/NAMESPACE/NAME or "+
		"deployment/NAMESPACE/NAME, or \"none\" if it does not run in the cluster. If empty, the command recognizes the "+
		"workload by the command of a container, or by the image of a container that has no command.")
	flags.BoolVar(&o.DiscardOthers, "discard-others", false,
		"Remove objects from the server that are missing or different in the CustomResourceDefinitions.")
	flags.BoolVar(&o.AcceptWrites, "accept-writes", false,
		"Start the controllers even if the preview shows that they would write children, or fail.")
	flags.DurationVar(&o.Propagation, "propagation", 2*time.Second, "The time to wait until a change of an admission "+
		"policy or an APIService has reached all kube-apiservers, and until the writes that they admitted before are "+
		"complete.")
	flags.DurationVar(&o.Timeout, "timeout", 2*time.Minute, "The timeout of each wait for the cluster.")
}

// run runs a step.
func (o *options) run(command *cobra.Command, do func(*migration.Migration, context.Context) error) error {
	config, err := o.config(command)
	if err != nil {
		return err
	}
	m, err := migration.New(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return do(m, ctx)
}

// config returns the configuration of a migration.
func (o *options) config(command *cobra.Command) (config migration.Config, err error) {
	config = o.Config
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: o.context})
	if config.Host, err = loading.ClientConfig(); err != nil {
		return config, err
	}
	config.Host.UserAgent = "metacontroller-apiserver-migrate"
	config.Out = command.OutOrStdout()
	return config, nil
}
