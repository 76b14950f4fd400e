// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deletions is how often each tool deletes a release.
const deletions = 20

// Each tool deletes the controller, the parents and mostly their CustomResourceDefinition within milliseconds, in its
// own order. The finalize hook is called about each parent nevertheless.

func TestTheFinalizeHookIsCalledWhenFluxDeletes(t *testing.T) {
	t.Parallel()
	countFinalized(t, "Flux", newRelease, func(t *testing.T, r *release, _ int) {
		applied := fluxApply(t, r, r.manifests("small")...)
		r.waitUntilSynced(t, "small")
		fluxPrune(t, r, applied)
	})
}

func TestTheFinalizeHookIsCalledWhenHelmDeletes(t *testing.T) {
	t.Parallel()
	countFinalized(t, "Helm", newRelease, func(t *testing.T, r *release, _ int) {
		runHelm(t, r, "install", r.name, r.chart(t), "--wait")
		r.waitUntilSynced(t, "small")
		runHelm(t, r, "uninstall", r.name)
	})
}

func TestTheFinalizeHookIsCalledWhenArgoCDDeletes(t *testing.T) {
	types := newRelease(t)
	env.Apply(t, types.definition())
	env.WaitUntilEstablished(t, "crd/buckets."+types.group)
	argo := startArgoCD(t)
	shared := func(t *testing.T) *release { return sharing(t, types.group) }
	policies := []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground}
	t.Run("", func(t *testing.T) {
		countFinalized(t, "Argo CD, a prune", shared, func(t *testing.T, r *release, _ int) {
			argo.sync(t, r.application(t, r.manifests("small")...))
			r.waitUntilSynced(t, "small")
			argo.sync(t, r.application(t))
		})
		countFinalized(t, "Argo CD, an Application", shared, func(t *testing.T, r *release, run int) {
			argo.sync(t, r.application(t, r.manifests("small")...))
			r.waitUntilSynced(t, "small")
			argo.delete(t, r.application(t), policies[run%len(policies)])
		})
	})
}

// countFinalized has a tool install and delete a new release some times, and prints in how many of them the finalize
// hook was called about all parents.
func countFinalized(
	t *testing.T, tool string, newOne func(*testing.T) *release, deletes func(t *testing.T, r *release, run int),
) {
	t.Helper()
	var called atomic.Int32
	t.Cleanup(func() {
		fmt.Printf("%s: the finalize hook was called about all parents in %d of %d runs\n", tool, called.Load(), deletions)
	})
	for run := range deletions {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			r := newOne(t)
			deletes(t, r, run)
			r.waitUntilGone(t)
			if err := r.checkFinalized(t); err != nil {
				t.Fatal(err)
			}
			called.Add(1)
		})
	}
}
