// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// fieldPathsAnnotation holds, on a revision, the paths that its parentPatch was taken with
// as a JSON list. A path that is in it and leads nowhere in the patch was not there in that
// version of the parent.
const fieldPathsAnnotation = "metacontroller.k8s.io/field-paths"

// patchOf returns the part of a parent that the paths lead to, in canonical form. A path
// that leads nowhere leaves nothing; one that leads through something else than an
// object is an error.
func patchOf(parent *object.Object, paths []string) ([]byte, error) {
	patch := map[string]any{}
	for _, path := range paths {
		raw, err := fieldOf(parent, path)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		var value any
		if err := utiljson.Unmarshal(raw, &value); err != nil {
			return nil, fmt.Errorf("revision of %s: %s: %w", parent, path, err)
		}
		if err := unstructured.SetNestedField(patch, value, split(path)...); err != nil {
			return nil, fmt.Errorf("revision of %s: %s: %w", parent, path, err)
		}
	}
	return object.Canonical(patch)
}

// fieldOf returns the field of a parent that a path leads to, nil if it is not there.
func fieldOf(parent *object.Object, path string) ([]byte, error) {
	raw, err := field(parent.JSON(), split(path))
	if err != nil {
		return nil, fmt.Errorf("revision of %s: spec.parentResource.revisionHistory.fieldPaths names %q: %w", parent, path, err)
	}
	return raw, nil
}

// canonicalPatch returns the parentPatch of a revision in canonical form.
func canonicalPatch(revision *v1alpha1.ControllerRevision) ([]byte, error) {
	var patch map[string]any
	if err := utiljson.Unmarshal(revision.ParentPatch.Raw, &patch); err != nil {
		return nil, fmt.Errorf("parentPatch of ControllerRevision %s/%s: %w; delete the revision",
			revision.Namespace, revision.Name, err)
	}
	return object.Canonical(patch)
}

// restore returns the parent as it was at a revision. Fields that revisions do not
// remember are as they are now.
//
// A revision of Metacontroller does not tell which paths it was taken with. Of such a
// one, as there, a path that is not in its patch keeps the value that it has now.
func restore(parent *object.Object, revision *v1alpha1.ControllerRevision, paths []string) (*object.Object, error) {
	recorded, taken := recordedPaths(revision)
	if taken {
		paths = recorded
	}
	raw := parent.JSON()
	for _, path := range paths {
		names := split(path)
		value, err := field(revision.ParentPatch.Raw, names)
		if err == nil && (value != nil || taken) {
			raw, err = withField(raw, names, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s as of ControllerRevision %s: %s: %w", parent, revision.Name, path, err)
		}
	}
	restored, err := object.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s as of ControllerRevision %s: %w", parent, revision.Name, err)
	}
	return restored, nil
}

// recordedPaths are the paths that a revision was taken with, if it tells.
func recordedPaths(revision *v1alpha1.ControllerRevision) (paths []string, recorded bool) {
	err := json.Unmarshal([]byte(revision.Annotations[fieldPathsAnnotation]), &paths)
	return paths, err == nil
}

func formatPaths(paths []string) string {
	text, _ := json.Marshal(paths) // strings always have a JSON form
	return string(text)
}
