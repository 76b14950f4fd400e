// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// cluster is the cluster that the options name, as kubectl finds it. Nothing is read before it is needed.
type cluster struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	// warnings prints the warnings of the cluster, each once.
	warnings rest.WarningHandler
}

func newCluster(warnings io.Writer) *cluster {
	return &cluster{
		rules: clientcmd.NewDefaultClientConfigLoadingRules(), warnings: rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true}),
	}
}

// addFlags adds the options that kubectl has for the cluster.
func (c *cluster) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.rules.ExplicitPath, "kubeconfig", "", "Path of the kubeconfig file.")
	clientcmd.BindOverrideFlags(&c.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

func (c *cluster) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules, &c.overrides)
}

// config returns how the cluster is reached. Its warnings are printed.
func (c *cluster) config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubectl-metacontroller"
	config.QPS = -1 // the cluster's priority and fairness bound it
	config.WarningHandler = c.warnings
	return config, nil
}

// client returns a client of the API of metacontroller-apiserver.
func (c *cluster) client() (versioned.Interface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return versioned.NewForConfig(config)
}

// objects returns a client of all objects of the cluster.
func (c *cluster) objects() (dynamic.Interface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// patch changes an object by a JSON merge patch, and returns what it has become. In a dry run, the cluster checks the change and
// stores nothing.
func (c *cluster) patch(ctx context.Context, of schema.GroupVersionResource, namespace, name string, patch []byte, dryRun bool) (*unstructured.Unstructured, error) {
	client, err := c.objects()
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: "kubectl-metacontroller"}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return client.Resource(of).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, options)
}

// lookup returns what finds controllers and parents in the cluster.
func (c *cluster) lookup() (*lookup.Lookup, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.loader().Namespace()
	if err != nil {
		return nil, err
	}
	return lookup.New(config, namespace)
}

// namespaceOrAll returns the namespace that was given as an option; empty, for all, if none was.
func (c *cluster) namespaceOrAll() string { return c.overrides.Context.Namespace }

// explain adds to an error what to do about it.
func explain(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if ok && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Name == "" && lookup.IsOwnAPI(status.ErrStatus.Details) {
		return fmt.Sprintf("the cluster does not serve metacontroller.k8s.io/v1alpha1 as this command needs it: "+
			"is metacontroller-apiserver installed, and as new as this command? (%v)", err)
	}
	if clientcmd.IsEmptyConfig(err) {
		return "no cluster is known: set KUBECONFIG or --kubeconfig"
	}
	return err.Error()
}
