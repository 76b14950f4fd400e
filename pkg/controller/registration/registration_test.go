// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var config = Config{APIService: "v1alpha1.metacontroller.k8s.io", Namespace: "metacontroller", Service: "metacontroller-apiserver"}

// apiService is one that leads to a Service, or to none.
func apiService(service string, annotations map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": "metacontroller.k8s.io", "version": "v1alpha1"}}}
	object.SetGroupVersionKind(apiServices().GroupVersion().WithKind("APIService"))
	object.SetName(config.APIService)
	object.SetAnnotations(annotations)
	if namespace, name, found := strings.Cut(service, "/"); found {
		_ = unstructured.SetNestedStringMap(object.Object, map[string]string{"namespace": namespace, "name": name}, "spec", "service")
	}
	return object
}

func TestWhoMayAct(t *testing.T) {
	const ours, annotation = "metacontroller/metacontroller-apiserver", "metacontroller.k8s.io/hold"
	for name, test := range map[string]struct {
		found *unstructured.Unstructured
		held  string // a part of the reason; empty if controllers may run
	}{
		"it leads to this server":            {apiService(ours, nil), ""},
		"it leads to definitions":            {apiService("", nil), "is for CustomResourceDefinitions"},
		"it leads to another server":         {apiService("metacontroller/other", nil), "leads to the Service metacontroller/other"},
		"it leads to another namespace":      {apiService("other/metacontroller-apiserver", nil), "leads to the Service other/metacontroller-apiserver"},
		"there is none":                      {nil, "does not exist, so this server runs no controllers"},
		"it is annotated":                    {apiService(ours, map[string]string{annotation: "maintenance"}), `hold: "maintenance"`},
		"the annotation is empty":            {apiService(ours, map[string]string{annotation: ""}), ""},
		"the annotation says that it is not": {apiService(ours, map[string]string{annotation: "false"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			held := config.read(test.found).held
			if (held == nil) != (test.held == "") || held != nil && !strings.Contains(held.Error(), test.held) {
				t.Errorf("controllers are held by %v, want %q", held, test.held)
			}
		})
	}
}

// at returns an object that was made at a second.
func at(second int64, of *unstructured.Unstructured) *unstructured.Unstructured {
	of.SetCreationTimestamp(metav1.Unix(second, 0))
	return of
}

// aDefinition returns a definition that serves v1alpha1, or not.
func aDefinition(served bool) *unstructured.Unstructured {
	of := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"versions": []any{map[string]any{"name": "v1alpha1", "served": served}},
	}}}
	of.SetName(Definitions()[0])
	return of
}

func TestDefinitionsWhoseObjectsAreHiddenHoldControllers(t *testing.T) {
	const ours = "metacontroller/metacontroller-apiserver"
	for name, test := range map[string]struct {
		service, definition *unstructured.Unstructured
		held                bool
	}{
		"the definition was there first":    {at(2, apiService(ours, nil)), at(1, aDefinition(true)), true},
		"both were made in the same second": {at(1, apiService(ours, nil)), at(1, aDefinition(true)), true},
		"its objects were moved": {
			at(2, apiService(ours, map[string]string{"metacontroller.k8s.io/moved": "true"})), at(1, aDefinition(true)), false,
		},
		"it does not serve the version any more":      {at(2, apiService(ours, nil)), at(1, aDefinition(false)), false},
		"somebody has created it beside a server":     {at(1, apiService(ours, nil)), at(2, aDefinition(true)), false},
		"the APIService leads to the definition":      {at(2, apiService("", nil)), at(1, aDefinition(true)), true},
		"there is no definition, as in most clusters": {at(2, apiService(ours, nil)), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var definitions []*unstructured.Unstructured
			if test.definition != nil {
				definitions = append(definitions, test.definition)
			}
			if held := config.read(test.service, definitions...).held; (held != nil) != test.held {
				t.Errorf("controllers are held by %v", held)
			}
		})
	}
}

// followed is a Registration that runs.
type followed struct {
	*Registration
	client  *fake.FakeDynamicClient
	mu      sync.Mutex
	changes []string
}

func follow(t *testing.T, prepare func(*fake.FakeDynamicClient), objects ...runtime.Object) *followed {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{
		apiServices():        "APIServiceList",
		definitionResource(): "CustomResourceDefinitionList",
	}
	f := &followed{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)}
	prepare(f.client)
	f.Registration = newRegistration(f.client, config)
	f.OnChange(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changes = append(f.changes, text(f.Held()))
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}

// until waits until the last change says a text; empty is that controllers may run.
func (f *followed) until(t *testing.T, says string) {
	t.Helper()
	var changes []string
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		changes = f.changes
		if len(changes) == 0 {
			return false, nil
		}
		last := changes[len(changes)-1]
		return (last == "") == (says == "") && strings.Contains(last, says), nil
	})
	if err != nil {
		t.Fatalf("it never says %q, but %q", says, changes)
	}
}

func TestTheRegistrationIsFollowed(t *testing.T) {
	f := follow(t, func(*fake.FakeDynamicClient) {})
	if !f.WaitUntilKnown(t.Context()) {
		t.Fatal("it is not known")
	}
	f.until(t, "does not exist, so this server runs no controllers")
	client := f.client.Resource(apiServices())
	if _, err := client.Create(t.Context(), apiService("", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until(t, "CustomResourceDefinitions")
	leading := f.Leading()
	for _, step := range []struct {
		to    *unstructured.Unstructured
		says  string
		leads bool
	}{
		{apiService("metacontroller/metacontroller-apiserver", map[string]string{"metacontroller.k8s.io/hold": "migration"}), "migration", true},
		{apiService("metacontroller/metacontroller-apiserver", nil), "", true},
		{apiService("", nil), "CustomResourceDefinitions", false},
	} {
		if _, err := client.Update(t.Context(), step.to, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.until(t, step.says)
		if leads := leading.Err() == nil; leads != step.leads {
			t.Errorf("when it says %q, the APIService leads here is %v", step.says, leads)
		}
	}
	if f.Leading().Err() != nil {
		t.Error("there is no new context for the next time")
	}
	if err := client.Delete(t.Context(), config.APIService, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until(t, "does not exist, so this server runs no controllers")
}

func TestAMissingRightIsTheReasonWhyControllersAreHeld(t *testing.T) {
	f := follow(t, func(client *fake.FakeDynamicClient) {
		client.PrependReactor("list", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(apiServices().GroupResource(), config.APIService, fmt.Errorf("no"))
		})
		client.PrependWatchReactor("apiservices", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewForbidden(apiServices().GroupResource(), config.APIService, fmt.Errorf("no"))
		})
	}, apiService("", nil))
	f.until(t, "needs permission to get, list and watch the APIService")
}
