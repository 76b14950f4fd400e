// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/scaffold"
)

// newInit returns the command that creates the files of a controller.
func newInit(streams genericiooptions.IOStreams) *cobra.Command {
	i := &initialization{streams: streams}
	command := &cobra.Command{
		Use:   "init NAME",
		Short: "Create a controller with a working hook and tests",
		Long: `Create a controller with a working hook and tests.

The new folder NAME has a CustomResourceDefinition, a CompositeController for it, a hook that creates a Deployment for
each object, tests of the hook, manifests that run it in a cluster, a Dockerfile and a README.md. The hook needs only
the standard library of its language. With --inline, the hook is a template in the controller, so there is no program.
NAME is the singular of the new type, in lower case.`,
		Example: `  # A type Website of the group example.com, with a hook in Python.
  kubectl metacontroller init website

  # The same without a program: the hook is in the controller.
  kubectl metacontroller init website --inline

  # A type DatabaseUser of the group db.example.com, with a hook in Go.
  kubectl metacontroller init databaseuser --lang go --kind DatabaseUser --group db.example.com`,
		Args:              oneArg("one NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(command *cobra.Command, args []string) error { return i.run(command, args[0]) },
	}
	flags := command.Flags()
	flags.StringVar(&i.language, "lang", "python", "Language of the hook: "+strings.Join(languages(), ", ")+".")
	completeFlag(command, "lang", oneOf(languages()...))
	flags.BoolVar(&i.inline, "inline", false, "Write the hook in the controller, as a template with CEL expressions.")
	command.MarkFlagsMutuallyExclusive("inline", "lang")
	flags.StringVar(&i.names.Group, "group", "example.com", "API group of the type.")
	flags.StringVar(&i.names.Kind, "kind", "", "Kind of the type. By default, NAME with a capital letter.")
	flags.StringVar(&i.names.Plural, "plural", "", "Plural of the type, in lower case. By default, NAME with an s.")
	return command
}

func languages() []string { return slices.Sorted(maps.Keys(scaffold.Languages())) }

// initialization runs the command.
type initialization struct {
	streams  genericiooptions.IOStreams
	language string
	inline   bool
	names    scaffold.Names
}

func (i *initialization) run(command *cobra.Command, name string) error {
	language, known := scaffold.Languages()[i.language]
	if !known {
		known := strings.Join(languages(), ", ")
		return cmdutil.UsageErrorf(command, "--lang must be one of %s, not %q", known, i.language)
	}
	hook, run := "a hook in "+language.Name, fmt.Sprintf(`Run it on this machine:
  %s 8080 &

Let a server on this machine call it:`, language.Command)
	if i.inline {
		language, hook, run = scaffold.Inline(), "an inline hook", "Run it in a cluster with metacontroller-apiserver:"
	}
	folder, name := name, filepath.Base(name)
	i.names.Singular = name
	if i.names.Plural == "" {
		i.names.Plural = plural(name)
	}
	if i.names.Kind == "" {
		i.names.Kind = strings.ToUpper(name[:1]) + name[1:]
	}
	if err := i.validate(); err != nil {
		return cmdutil.UsageErrorf(command, "%v", err)
	}
	if _, err := scaffold.Write(folder, language, i.names); err != nil {
		return err
	}
	_, err := fmt.Fprintf(i.streams.Out, `Created %[1]s, with a controller for %[2]s (%[3]s.%[4]s) and %[5]s.

Test the hook, without a cluster:
  cd %[1]s
  kubectl metacontroller test

%[6]s
  kubectl apply -f crd.yaml
  kubectl apply -f controller.yaml
  kubectl wait --for=condition=Ready -f controller.yaml
  kubectl apply -f example.yaml

For more, see README.md.
`, folder, i.names.Kind, i.names.Plural, i.names.Group, hook, run)
	return err
}

// validate returns an error if a name is not valid for a type.
func (i *initialization) validate() error {
	for _, one := range []struct{ what, name, label string }{
		{"NAME", i.names.Singular, i.names.Singular}, {"--plural", i.names.Plural, i.names.Plural},
		{"--kind", i.names.Kind, strings.ToLower(i.names.Kind)},
	} {
		if wrong := validation.IsDNS1035Label(one.label); len(wrong) > 0 {
			return fmt.Errorf("%s is %q: %s", one.what, one.name, wrong[0])
		}
	}
	if wrong := validation.IsDNS1123Subdomain(i.names.Group); len(wrong) > 0 {
		return fmt.Errorf("--group is %q: %s", i.names.Group, wrong[0])
	}
	if !strings.Contains(i.names.Group, ".") {
		return errors.New("--group must contain a dot: groups without a dot belong to Kubernetes")
	}
	return nil
}

// plural guesses the plural of a name.
func plural(name string) string {
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"),
		strings.HasSuffix(name, "sh"):
		return name + "es"
	case strings.HasSuffix(name, "y") && len(name) > 1 && !strings.ContainsAny(name[len(name)-2:len(name)-1], "aeiou"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}
