// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// moveEngine moves a child from one apply engine to the other. One request changes who owns the
// fields and the annotation with what was last applied, and nothing else.
func (a *Actor) moveEngine(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	live, err := a.liveMetadata(ctx, step)
	if err != nil {
		return nil, err
	}
	patch := moveToServerSideApply
	if step.Op == pipeline.ToDynamicApply {
		patch = moveToDynamicApply
	}
	operations, err := patch(a, live, step.Body)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(append(operations, operation{"replace", "/metadata/resourceVersion", live.ResourceVersion}))
	if err != nil {
		return nil, err
	}
	return a.Writer.PatchJSON(ctx, step.Type, step.Key().NamespacedName, body)
}

// liveMetadata reads the metadata of the observed object from the host, with its managedFields. The
// error is a conflict if the object was replaced.
func (a *Actor) liveMetadata(ctx context.Context, step pipeline.Step) (*metav1.ObjectMeta, error) {
	live, err := a.Writer.Metadata(ctx, step.Type, step.Key().NamespacedName)
	if err == nil && live.UID != step.Observed.UID {
		err = apierrors.NewConflict(step.Type.GroupResource(), step.Name, fmt.Errorf("it was replaced"))
	}
	return live, err
}

// operation is one operation of a JSON patch. Replacing the resource version by the one that was
// read makes the host refuse the patch if the object has changed since.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const annotations = "/metadata/annotations"

var lastAppliedPath = annotations + "/" + strings.ReplaceAll(object.LastAppliedAnnotation, "/", "~1")

func moveToServerSideApply(a *Actor, live *metav1.ObjectMeta, lastApplied []byte) ([]operation, error) {
	var applied map[string]any
	if err := json.Unmarshal(lastApplied, &applied); err != nil {
		return nil, err
	}
	entries, err := a.Writer.Managers().ToApply(live.ManagedFields, applied)
	if err != nil {
		return nil, err
	}
	operations := replaceManagedFields(entries)
	if _, there := live.Annotations[object.LastAppliedAnnotation]; there {
		operations = append(operations, operation{Op: "remove", Path: lastAppliedPath})
	}
	return operations, nil
}

func moveToDynamicApply(a *Actor, live *metav1.ObjectMeta, lastApplied []byte) ([]operation, error) {
	entries, err := a.Writer.Managers().ToUpdate(live.ManagedFields)
	if err != nil {
		return nil, err
	}
	operations := replaceManagedFields(entries)
	if live.Annotations == nil {
		operations = append(operations, operation{"add", annotations, map[string]string{}})
	}
	return append(operations, operation{"add", lastAppliedPath, string(lastApplied)}), nil
}

// replaceManagedFields returns the operation that replaces who owns which field.
func replaceManagedFields(entries []metav1.ManagedFieldsEntry) []operation {
	if len(entries) == 0 {
		return nil
	}
	return []operation{{"replace", "/metadata/managedFields", entries}}
}
