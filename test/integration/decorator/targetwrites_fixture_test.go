// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	hostobject "github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// writes runs a sync of a target step by step, so that a test can act between observing and
// writing.
type writes struct {
	*testing.T
	of       hostobject.Type
	writer   *host.Writer
	target   types.NamespacedName
	upToDate plan.UpToDateCache
}

// newWrites creates a target of a type, in YAML.
func newWrites(t *testing.T, of hostobject.Type, manifest string) *writes {
	t.Helper()
	client, err := host.NewClient(env.Config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	w := &writes{T: t, of: of, writer: host.NewWriter(client, 10), target: types.NamespacedName{Name: harness.Name("test")}}
	if of.Namespaced {
		w.target.Namespace = env.Namespace(t)
	}
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &content); err != nil {
		t.Fatal(err)
	}
	created := &unstructured.Unstructured{Object: content}
	created.SetGroupVersionKind(of.GroupVersionKind())
	created.SetName(w.target.Name)
	if _, err := w.live().Create(t.Context(), created, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *writes) live() dynamic.ResourceInterface {
	return env.Dynamic.Resource(w.of.GroupVersionResource).Namespace(w.target.Namespace)
}

func (w *writes) get() *unstructured.Unstructured {
	w.Helper()
	found, err := w.live().Get(w.Context(), w.target.Name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// observe returns the present state of the target.
func (w *writes) observe() *pipeline.Snapshot {
	w.Helper()
	target, err := w.writer.Get(w.Context(), w.of, w.target)
	if err != nil {
		w.Fatal(err)
	}
	return &pipeline.Snapshot{ParentType: w.of, Parent: target, Finalizer: "example.com/test"}
}

// sync carries out a response about an observed target.
func (w *writes) sync(seen *pipeline.Snapshot, response *pipeline.Response) []pipeline.Outcome {
	w.Helper()
	planned, err := plan.Decorator(seen, response, nil, &w.upToDate)
	if err != nil {
		w.Fatal(err)
	}
	actor := &act.Actor{Writer: w.writer, Parallel: 1}
	outcomes := actor.Act(w.Context(), seen, planned)
	w.upToDate.Wrote(outcomes)
	return outcomes
}

// delete deletes the target and waits until it is gone.
func (w *writes) delete() {
	w.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	if err := w.live().Delete(w.Context(), w.target.Name, now); err != nil {
		w.Fatal(err)
	}
	env.Eventually(w, func(ctx context.Context) error {
		found, err := w.live().Get(ctx, w.target.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && w.of.Kind == "Namespace" { // the host would take its time to look for what is in it
			empty := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.target.Name}}
			_, err = env.Kube.CoreV1().Namespaces().Finalize(ctx, empty, metav1.UpdateOptions{})
		}
		return fmt.Errorf("it should be gone: %v %v", found, err)
	})
}

// describe returns the outcomes of writes as text.
func describe(outcomes []pipeline.Outcome) []string {
	var words []string
	for _, outcome := range outcomes {
		word := string(outcome.Op)
		if outcome.Conflict {
			word += " was overtaken"
		}
		if outcome.Err != nil {
			word += " failed: " + outcome.Err.Error()
		}
		words = append(words, word)
	}
	return words
}

func marking() *pipeline.Response {
	return &pipeline.Response{
		Labels:      map[string]*string{"added": ptr.To("yes"), "taken": nil},
		Annotations: map[string]*string{"example.com/added": ptr.To("yes\n"), "example.com/taken": nil},
	}
}

func typeOf(group, version, resource, kind string, namespaced, statusSubresource bool) hostobject.Type {
	return hostobject.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: resource},
		Kind:                 kind, Namespaced: namespaced, StatusSubresource: statusSubresource,
	}
}

const marked = `metadata: {labels: {taken: "1", kept: "1"}, annotations: {example.com/taken: "1", example.com/kept: "1"}}`
