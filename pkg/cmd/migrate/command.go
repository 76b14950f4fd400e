// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/migration"
)

const description = `Moves the CompositeControllers, DecoratorControllers and ControllerRevisions of a cluster from the
CustomResourceDefinitions of Metacontroller to this server, and back, while they are used. Each step can be done again: it
goes on where it was interrupted. Without a step, the command says how far the migration is, and what comes next.

The server must run in the cluster, registered for nothing but the migration: see docs/migrate.md.`

// options are what the command is told.
type options struct {
	kubeconfig, context string
	caFile, original    string
	toCRDs              bool
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
  metacontroller-apiserver migrate switch --stop-original
  metacontroller-apiserver migrate run`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			do := (*migration.Migration).Status
			switch {
			case o.toCRDs:
				do = o.orPlan(step{name: "back", changes: true, do: (*migration.Migration).Back})
			case o.DryRun:
				do = (*migration.Migration).Plan
			}
			return o.run(command, do)
		},
		// These commands have no flags of the server.
		PersistentPreRun: func(*cobra.Command, []string) {},
		SilenceUsage:     true,
	}
	plain := &cobra.Command{}
	command.SetUsageFunc(plain.UsageFunc())
	command.SetHelpFunc(plain.HelpFunc())
	command.SetFlagErrorFunc(plain.FlagErrorFunc())
	command.Flags().BoolVar(&o.toCRDs, "to-crds", false, "The same as the step back.")
	o.addFlags(command)
	for _, step := range steps() {
		command.AddCommand(&cobra.Command{
			Use: step.name, Short: step.short, Long: step.long, Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error { return o.run(command, o.orPlan(step)) },
		})
	}
	command.AddCommand(newValuesCommand())
	return command
}

// step is a step of the migration.
type step struct {
	name, short, long string
	// changes is true if the migration is further, or less far, after the step.
	changes bool
	do      func(*migration.Migration, context.Context) error
}

func steps() []step {
	return []step{
		{"check", "Say what stands in the way, and what will be different", `Asks the cluster and the server whether everything can be moved, and changes nothing but that
it registers the API of the migration: rights, versions, objects that cannot be taken and why, Metacontroller's workload.`, false, (*migration.Migration).Check},
		{"copy", "Copy everything into the storage of the server", `Copies all objects with their UIDs into the storage of the server, until nothing changes. Metacontroller goes on
meanwhile. The CustomResourceDefinitions get a second version, v0migration, by which they can be read later.`, true, (*migration.Migration).Copy},
		{"switch", "Have the server serve the API", `Copies once more, has the APIService lead to the server, whose controllers are held, and copies what was written
meanwhile. Metacontroller must not run: --stop-original scales it to zero.`, true, (*migration.Migration).Switch},
		{"verify", "Compare both sides, and show what the controllers would write", `Compares all objects one by one. Once the server serves the API, it also has each controller plan a sync of each
of its parents, and lists what it would write.`, false, (*migration.Migration).Verify},
		{"run", "Let the controllers of the server run", `Removes the annotation that holds the controllers of the server.`, true, (*migration.Migration).Release},
		{"finish", "Remove the CustomResourceDefinitions", `Removes the CustomResourceDefinitions with the objects in them, and the API of the migration. The objects of the server
stay, and so does everything that belongs to them.`, true, (*migration.Migration).Finish},
		{"back", "Have the CustomResourceDefinitions serve the API again", `Holds the controllers of the server, writes all objects into the CustomResourceDefinitions, which are created if they
are gone, and has the APIService lead to them. It can be done at any time.`, true, (*migration.Migration).Back},
		{"status", "Say how far the migration is, and what comes next", "", false, (*migration.Migration).Status},
	}
}

func (o *options) addFlags(command *cobra.Command) {
	flags := command.PersistentFlags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "The kubeconfig of the cluster. If empty, it is that of $KUBECONFIG or of the Pod.")
	flags.StringVar(&o.context, "context", "", "The context of the kubeconfig.")
	flags.StringVar(&o.Service.Name, "service-name", "metacontroller-apiserver", "The name of the Service that leads to the server.")
	flags.StringVar(&o.Service.Namespace, "service-namespace", "metacontroller", "The namespace of that Service.")
	flags.Int32Var(&o.Port, "service-port", 443, "The port of that Service.")
	flags.StringVar(&o.caFile, "ca-file", "", "The authority of the server's certificate, in PEM. It is not needed if the server has "+
		"--certificate-secret, or if the APIService "+migration.ImportsAPIService+" is there and has a caBundle.")
	flags.StringVar(&o.original, "original", "", "The workload of Metacontroller, as statefulset/NAMESPACE/NAME or deployment/NAMESPACE/NAME, or "+
		"\"none\" if it does not run in the cluster. If empty, it is looked for.")
	flags.BoolVar(&o.StopOriginal, "stop-original", false, "Scale Metacontroller to zero when it must not run, and up again after the way back.")
	flags.BoolVar(&o.DiscardOthers, "discard-others", false, "Remove from the server, before the switch, what the CustomResourceDefinitions do not have.")
	flags.BoolVar(&o.Force, "force", false, "Go on although objects differ, or something would be collected on the way back. It is listed.")
	flags.BoolVar(&o.DryRun, "dry-run", false, "Say what would be done, and do nothing. Without a step: the whole plan, with what each controller will do differently.")
	flags.DurationVar(&o.Timeout, "timeout", 2*time.Minute, "How long each wait for the cluster may take.")
}

// orPlan returns what does a step, or says what it would do with --dry-run. A step that changes nothing is done all the same.
func (o *options) orPlan(of step) func(*migration.Migration, context.Context) error {
	if !o.DryRun {
		return guided(of)
	}
	return func(m *migration.Migration, ctx context.Context) error {
		if m.PlanStep(of.name) && of.name != "verify" {
			return nil
		}
		return of.do(m, ctx)
	}
}

// guided returns what does a step and says what comes next, also if the step fails: a failure leaves a cluster that works, and
// whoever reads of it wants to know which way is open.
func guided(of step) func(*migration.Migration, context.Context) error {
	if !of.changes {
		return of.do
	}
	return func(m *migration.Migration, ctx context.Context) error {
		err := of.do(m, ctx)
		if ctx.Err() != nil {
			return err
		}
		if guideErr := m.Guide(ctx); err == nil {
			err = guideErr
		}
		return err
	}
}

// run does a step.
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
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context})
	if config.Host, err = loading.ClientConfig(); err != nil {
		return config, err
	}
	config.Host.UserAgent = "metacontroller-apiserver-migrate"
	if o.caFile != "" {
		if config.CABundle, err = os.ReadFile(o.caFile); err != nil {
			return config, fmt.Errorf("--ca-file: %w", err)
		}
	}
	if config.Original, err = migration.ParseWorkload(o.original); err != nil {
		return config, fmt.Errorf("--original: %w", err)
	}
	config.Out = command.OutOrStdout()
	return config, nil
}
