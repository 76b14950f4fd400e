// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

// clean removes the registration. Unless it is forced to, it does so only if no parent can have the
// finalizer of a controller: nobody would remove that any more.
func clean(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("attach clean", flag.ContinueOnError)
	dataDir := flags.String("data-dir", "", "the folder of the server's storage, to say what stays in it")
	force := flags.Bool("force", false, "remove the registration although parents may have finalizers of controllers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cluster, _, err := currentCluster()
	if err != nil {
		return err
	}
	registered, err := aggregation.Registered(ctx, cluster)
	if err != nil {
		return err
	}
	if registered && !*force {
		if err := checkReleased(ctx, cluster); err != nil {
			return err
		}
	}
	if err := aggregation.Remove(ctx, cluster); err != nil {
		return err
	}
	fmt.Fprintf(out, "The cluster %s has no registration of 'make run' any more. Stop the server with Ctrl-C if it still runs.\n", cluster.Host)
	return sayWhatStays(out, *dataDir)
}

// checkReleased returns an error that names the controllers whose finalizers parents may have.
func checkReleased(ctx context.Context, cluster *rest.Config) error {
	client, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return err
	}
	var finalizing []string
	for _, resource := range []string{"compositecontrollers", "decoratorcontrollers"} {
		list, err := client.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("the server does not say which controllers there are: %w\n"+
				"Parents may have finalizers of these controllers, which nobody would remove any more. Start the server with 'make run' "+
				"and call 'make run-clean' while it runs; 'make run-clean FORCE=1' takes the registration away all the same", err)
		}
		for i := range list.Items {
			if finalizes(&list.Items[i]) {
				finalizing = append(finalizing, strings.TrimSuffix(resource, "s")+"/"+list.Items[i].GetName())
			}
		}
	}
	if len(finalizing) == 0 {
		return nil
	}
	return fmt.Errorf("these controllers have finalize hooks, so their parents have finalizers that nobody would remove any more: %s\n"+
		"First delete the parents that are to be finalized, and then these controllers, while the server and the hooks run:\n"+
		"    kubectl delete %s\n"+
		"'make run-clean FORCE=1' takes the registration away all the same", strings.Join(finalizing, ", "), strings.Join(finalizing, " "))
}

// finalizes reports whether parents of a controller may have its finalizer.
func finalizes(controller *unstructured.Unstructured) bool {
	_, has, _ := unstructured.NestedMap(controller.Object, "spec", "hooks", "finalize")
	return has || slices.Contains(controller.GetFinalizers(), v1alpha1.DrainFinalizer)
}

// sayWhatStays says that the objects in the data directory come back, if there are any.
func sayWhatStays(out io.Writer, dataDir string) error {
	if dataDir == "" {
		return nil
	}
	absolute, err := filepath.Abs(dataDir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(absolute); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	fmt.Fprintf(out, "The controllers that were not deleted, and the certificate, stay in %[1]s: the next 'make run' brings them back.\n"+
		"To remove them, too, stop the server and then: rm -r %[2]s\n",
		absolute, "'"+strings.ReplaceAll(absolute, "'", `'\''`)+"'")
	return nil
}
