// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Apply has the host merge a configuration, in JSON, into the object of that name,
// which it creates if there is none. Fields that others own are taken over.
func (w *Writer) Apply(ctx context.Context, of pipeline.Type, name types.NamespacedName, configuration []byte) (*object.Object, error) {
	return w.send(ctx, w.apply(of, name, configuration))
}

// TryApply returns what Apply would make of the object, and changes nothing.
func (w *Writer) TryApply(ctx context.Context, of pipeline.Type, name types.NamespacedName, configuration []byte) (*object.Object, error) {
	return w.send(ctx, w.apply(of, name, configuration).Param("dryRun", metav1.DryRunAll))
}

func (w *Writer) apply(of pipeline.Type, name types.NamespacedName, configuration []byte) *rest.Request {
	return w.client.rest.Patch(types.ApplyYAMLPatchType).
		AbsPath(path(of.GroupVersionResource, name.Namespace)...).Name(name.Name).
		Param("fieldManager", w.client.applier).Param("force", "true").Body(configuration)
}

// TryCreate returns what Create would make of the object's JSON, and changes nothing.
func (w *Writer) TryCreate(ctx context.Context, of pipeline.Type, namespace string, body []byte) (*object.Object, error) {
	return w.write(ctx, w.client.rest.Post().AbsPath(path(of.GroupVersionResource, namespace)...).
		SetHeader("Content-Type", jsonMediaType).Param("dryRun", metav1.DryRunAll).Body(body))
}

// PatchJSON changes an object by a JSON patch.
func (w *Writer) PatchJSON(ctx context.Context, of pipeline.Type, name types.NamespacedName, patch []byte) (*object.Object, error) {
	return w.write(ctx, w.client.rest.Patch(types.JSONPatchType).
		AbsPath(path(of.GroupVersionResource, name.Namespace)...).Name(name.Name).Body(patch))
}

// Metadata reads an object's metadata from the host itself, with the managedFields
// that objects from caches lack.
func (w *Writer) Metadata(ctx context.Context, of pipeline.Type, name types.NamespacedName) (*metav1.ObjectMeta, error) {
	result := w.client.rest.Get().AbsPath(path(of.GroupVersionResource, name.Namespace)...).Name(name.Name).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	metadata := &metav1.ObjectMeta{}
	if err := json.Unmarshal(object.Lookup(body, "metadata"), metadata); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return metadata, nil
}

// Managers are the names under which the writer's writes own fields.
func (w *Writer) Managers() managedfields.Managers {
	return managedfields.Managers{Update: FieldManager, Apply: w.client.applier}
}
