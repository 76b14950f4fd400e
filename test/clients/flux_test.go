// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// newFlux returns what kustomize-controller applies, waits and deletes with.
func newFlux(t *testing.T) *ssa.ResourceManager {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(env.Config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := client.New(env.Config, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	poller := polling.NewStatusPoller(cluster, mapper, polling.Options{})
	return ssa.NewResourceManager(cluster, poller, ssa.Owner{
		Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io",
	})
}

// untilListed applies objects again, as tools do, while the cluster does not list a new type in its discovery document.
// Any other error fails the test.
func untilListed(t *testing.T, apply func(context.Context) error) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		err := apply(ctx)
		if err != nil && !strings.Contains(err.Error(), "no matches for kind") {
			t.Fatal(err)
		}
		return err
	})
}

// fluxApply applies manifests as a Kustomization of the release's name.
func fluxApply(t *testing.T, r *release, manifests ...string) (changes *ssa.ChangeSet) {
	t.Helper()
	untilListed(t, func(ctx context.Context) (err error) {
		flux := newFlux(t)
		all := objects(t, manifests...)
		if err := normalize.UnstructuredList(all); err != nil {
			t.Fatal(err)
		}
		flux.SetOwnerLabels(all, r.name, r.namespace)
		changes, err = flux.ApplyAllStaged(ctx, all, ssa.DefaultApplyOptions())
		return err
	})
	return changes
}

// fluxPrune deletes what was applied, as kustomize-controller does when it prunes objects and when a Kustomization is
// deleted.
func fluxPrune(t *testing.T, r *release, applied *ssa.ChangeSet) {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, entry := range applied.Entries {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(entry.ObjMetadata.GroupKind.WithVersion(entry.GroupVersion))
		object.SetName(entry.ObjMetadata.Name)
		object.SetNamespace(entry.ObjMetadata.Namespace)
		all = append(all, object)
	}
	flux := newFlux(t)
	_, err := flux.DeleteAll(t.Context(), all, ssa.DeleteOptions{
		PropagationPolicy: metav1.DeletePropagationBackground, Inclusions: flux.GetOwnerLabels(r.name, r.namespace),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func fluxWait(t *testing.T, applied *ssa.ChangeSet) error {
	t.Helper()
	return newFlux(t).WaitForSet(applied.ToObjMetadataSet(), ssa.WaitOptions{
		Interval: 100 * time.Millisecond, Timeout: waitsFor, FailFast: true,
	})
}

// actions are what was done to the objects, each once, in alphabetical order.
func actions(changes *ssa.ChangeSet) string {
	var all []string
	for _, entry := range changes.Entries {
		all = append(all, string(entry.Action))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

func TestFluxAppliesWaitsAndFindsNoDrift(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	manifests := r.manifests("small")
	applied := fluxApply(t, r, manifests...)
	if got := actions(applied); got != "created" {
		t.Errorf("the first apply has the actions %s", got)
	}
	if err := fluxWait(t, applied); err != nil {
		t.Fatal(err)
	}
	r.waitUntilSynced(t, "small") // at once, because the parents are Ready
	if got := actions(fluxApply(t, r, manifests...)); got != "unchanged" {
		t.Errorf("the second apply has the actions %s", got)
	}

	env.PatchController(t, harness.Composite(r.name), harness.Object{"spec": harness.Object{"generateSelector": nil}})
	flux := newFlux(t)
	for _, object := range objects(t, r.controller()) {
		flux.SetOwnerLabels([]*unstructured.Unstructured{object}, r.name, r.namespace)
		drift, _, _, err := flux.Diff(t.Context(), object, ssa.DefaultDiffOptions())
		if err != nil || drift.Action != ssa.ConfiguredAction {
			t.Errorf("the change of another is %v (%v)", drift, err)
		}
	}
	if got := actions(fluxApply(t, r, manifests...)); got != "configured, unchanged" {
		t.Errorf("the correction has the actions %s", got)
	}

	larger := fluxApply(t, r, r.manifests("large")...)
	if err := fluxWait(t, larger); err != nil {
		t.Error(err)
	}
	r.waitUntilSynced(t, "large")
	fluxPrune(t, r, applied)
	r.waitUntilGone(t)
	if err := r.checkFinalized(t); err != nil {
		t.Error(err)
	}
}

// Flux reports such a controller soon, and does not wait for its timeout.
func TestFluxReportsAControllerThatCannotRun(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	began := time.Now()
	err := fluxWait(t, fluxApply(t, r, r.definition(), r.broken()))
	if err == nil || !strings.Contains(err.Error(), r.name) || time.Since(began) > waitsFor/2 {
		t.Errorf("after %s, Flux says: %v", time.Since(began), err)
	}
}
