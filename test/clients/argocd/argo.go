// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/sync/syncwaves"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

const (
	// trackingID is the annotation by which Argo CD knows the objects of an Application.
	trackingID = "argocd.argoproj.io/tracking-id"
	// manager is the field manager of Argo CD.
	manager = "argocd-controller"
)

// argo is the engine of Argo CD, with the settings that docs/gitops.md advises.
type argo struct {
	config  *rest.Config
	health  health.HealthOverride
	log     logr.Logger
	kubectl *kube.KubectlCmd
	cluster cache.ClusterCache
}

// newArgo returns an engine that watches the whole cluster.
func newArgo(config *rest.Config, override health.HealthOverride, log logr.Logger) (*argo, error) {
	kubectl := &kube.KubectlCmd{Log: log, Tracer: tracing.NopTracer{}}
	a := &argo{config: config, health: override, log: log, kubectl: kubectl}
	a.cluster = cache.NewClusterCache(config, cache.SetKubectl(kubectl), cache.SetLogr(log),
		cache.SetSettings(cache.Settings{ResourceHealthOverride: override, ResourcesFilter: exclusions{}}),
		cache.SetPopulateResourceInfoHandler(func(of *unstructured.Unstructured, _ bool) (info any, cacheManifest bool) {
			id := of.GetAnnotations()[trackingID]
			return id, id != ""
		}))
	return a, a.cluster.EnsureSynced()
}

// exclusions are the resource.exclusions that Argo CD 3 has by default, and those that docs/gitops.md adds and removes.
type exclusions struct{}

func (exclusions) IsExcludedResource(group, kind, _ string) bool {
	switch group {
	case "metacontroller.k8s.io":
		return kind == "Sync" || kind == "HookCall"
	case "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io":
		return true
	}
	return group == "" && (kind == "Event" || kind == "Endpoints")
}

// healthOf is the URL that answers the health of a CompositeController.
type healthOf string

// GetResourceHealth implements health.HealthOverride.
func (url healthOf) GetResourceHealth(of *unstructured.Unstructured) (*health.HealthStatus, error) {
	if of.GetKind() != "CompositeController" {
		return nil, nil
	}
	body, err := json.Marshal(of.Object)
	if err != nil {
		return nil, err
	}
	answer, err := http.Post(string(url), "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	status := &health.HealthStatus{}
	return status, json.NewDecoder(answer.Body).Decode(status)
}

// targets returns what Git has, with the mark of the application.
func (about *application) targets() (targets []*unstructured.Unstructured, err error) {
	for _, manifest := range about.Manifests {
		target := &unstructured.Unstructured{}
		if err := json.Unmarshal(manifest, target); err != nil {
			return nil, err
		}
		annotations := target.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingID] = about.Name
		target.SetAnnotations(annotations)
		targets = append(targets, target)
	}
	return targets, nil
}

func (about *application) manages(of *cache.Resource) bool { return of.Info == about.Name }

// sync makes the cluster as Git says, and prunes what is not in Git. It returns what was done to each object. Like Argo
// CD, it looks at the cluster again before each step.
func (a *argo) sync(ctx context.Context, about *application) ([]string, error) {
	phase, message, results, started := common.OperationRunning, "", []common.ResourceSyncResult(nil), metav1.Now()
	for {
		live, targets, err := a.compare(about)
		if err != nil {
			return nil, err
		}
		compared := sync.Reconcile(targets, live, about.Namespace, a.cluster)
		step, cleanup, err := sync.NewSyncContext("revision", compared, a.config, a.config, a.kubectl, about.Namespace,
			a.cluster.GetOpenAPISchema(), sync.WithPrune(true), sync.WithLogr(a.log), sync.WithHealthOverride(a.health),
			sync.WithServerSideApply(about.ServerSide), sync.WithServerSideApplyManager(manager),
			sync.WithInitialState(phase, message, results, started))
		if err != nil {
			return nil, err
		}
		step.Sync()
		phase, message, results = step.GetState()
		cleanup()
		if phase.Completed() {
			break
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the sync is %s: %s: %w", phase, message, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	var done []string
	for _, result := range results {
		done = append(done, fmt.Sprintf("%s: %s %s: %s", result.ResourceKey.String(), result.Status, result.HookPhase,
			result.Message))
	}
	if !phase.Successful() {
		return nil, fmt.Errorf("the sync is %s: %s: %q", phase, message, done)
	}
	return done, nil
}

// compare returns the objects of the application in the cluster, and those in Git.
func (a *argo) compare(about *application) (
	live map[kube.ResourceKey]*unstructured.Unstructured, targets []*unstructured.Unstructured, err error,
) {
	if targets, err = about.targets(); err != nil {
		return nil, nil, err
	}
	live, err = a.cluster.GetManagedLiveObjs(targets, about.manages)
	return live, targets, err
}

// differences returns the objects that Argo CD shows as OutOfSync.
func (a *argo) differences(_ context.Context, about *application) (found []string, err error) {
	live, targets, err := a.compare(about)
	if err != nil {
		return nil, err
	}
	options := []diff.Option{diff.WithLogr(a.log), diff.WithGVKParser(a.cluster.GetGVKParser()), diff.WithManager(manager)}
	switch about.Comparison {
	case "structured":
		options = append(options, diff.WithStructuredMergeDiff(true))
	case "server":
		applier, cleanup, err := kube.ManageServerSideDiffDryRuns(a.config, a.cluster.GetOpenAPISchema(),
			a.kubectl.Tracer, a.log, nil)
		if err != nil {
			return nil, err
		}
		defer cleanup()
		options = append(options, diff.WithServerSideDiff(true),
			diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)))
	}
	result := sync.Reconcile(targets, live, about.Namespace, a.cluster)
	differences, err := diff.DiffArray(result.Target, result.Live, options...)
	if err != nil {
		return nil, err
	}
	for _, difference := range differences.Diffs {
		if difference.Modified {
			found = append(found, fmt.Sprintf("%s instead of %s", difference.NormalizedLive, difference.PredictedLive))
		}
	}
	return found, nil
}

// delete is one step of the deletion of the application. Argo CD deletes wave by wave, the last one first, and all
// objects of a wave at the same time. It waits for objects that are being deleted, and deletes no
// CustomResourceDefinition. The texts name the objects that are left.
func (a *argo) delete(ctx context.Context, about *application) (left []string, err error) {
	live, err := a.cluster.GetManagedLiveObjs(nil, about.manages)
	if err != nil {
		return nil, err
	}
	var wave []*unstructured.Unstructured
	for key, object := range live {
		if kube.IsCRD(object) {
			continue
		}
		left = append(left, key.String())
		switch {
		case object.GetDeletionTimestamp() != nil:
			return left, nil
		case len(wave) == 0 || syncwaves.Wave(object) > syncwaves.Wave(wave[0]):
			wave = []*unstructured.Unstructured{object}
		case syncwaves.Wave(object) == syncwaves.Wave(wave[0]):
			wave = append(wave, object)
		}
	}
	policy := metav1.DeletionPropagation(about.Policy)
	return left, kube.RunAllAsync(len(wave), func(i int) error {
		err := a.kubectl.DeleteResource(ctx, a.config, wave[i].GroupVersionKind(), wave[i].GetName(), wave[i].GetNamespace(),
			metav1.DeleteOptions{PropagationPolicy: &policy})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
