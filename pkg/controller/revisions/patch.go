// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// fieldPathsAnnotation has the field paths whose values a revision records, as a JSON list. A path that is in
// the list and not in the parentPatch had no value in that version of the parent.
const fieldPathsAnnotation = "metacontroller.k8s.io/field-paths"

// Patch returns the patch that a revision records: the fields of a parent at the paths, in canonical form. A path
// without a field adds nothing. A path through something other than an object is an error.
func Patch(parent *object.Object, paths []string) ([]byte, error) {
	patch := map[string]any{}
	for _, path := range paths {
		raw, err := parentField(parent, path)
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

// HashFields returns a hash of the bytes of the fields that Patch would record.
func HashFields(parent *object.Object, paths []string) (uint64, error) {
	hash := xxhash.New()
	for _, path := range paths {
		raw, err := parentField(parent, path)
		if err != nil {
			return 0, err
		}
		_, _ = fmt.Fprintf(hash, "%d:", len(raw))
		_, _ = hash.Write(raw)
	}
	return hash.Sum64(), nil
}

// parentField returns the field of a parent at a path; nil if there is none.
func parentField(parent *object.Object, path string) ([]byte, error) {
	raw, err := field(parent.JSON(), split(path))
	if err != nil {
		return nil, fmt.Errorf("revision of %s: spec.parentResource.revisionHistory.fieldPaths names %q: %w",
			parent, path, err)
	}
	return raw, nil
}

// canonicalPatch returns the parentPatch of a revision in canonical form.
func canonicalPatch(revision *v1alpha1.ControllerRevision) ([]byte, error) {
	var patch map[string]any
	if err := utiljson.Unmarshal(revision.ParentPatch.Raw, &patch); err != nil {
		return nil, fmt.Errorf("parentPatch of ControllerRevision %s/%s: %w; correct the patch: it determines the "+
			"desired state of the children of this revision until the server updates "+
			"them", revision.Namespace, revision.Name, err)
	}
	return object.Canonical(patch)
}

// Record records a patch, which is in canonical form, and its paths in a revision. A parentPatch that has the same
// canonical form stays as it is.
func Record(revision *v1alpha1.ControllerRevision, patch []byte, paths []string) {
	metav1.SetMetaDataAnnotation(&revision.ObjectMeta, fieldPathsAnnotation, formatPaths(paths))
	if recorded, err := canonicalPatch(revision); err != nil || !bytes.Equal(recorded, patch) {
		revision.ParentPatch = runtime.RawExtension{Raw: patch}
	}
}

// Records reports whether Record would leave the revision as it is.
func (s *Stored) Records(patch []byte, paths []string) bool {
	recorded, err := s.Patch()
	return err == nil && bytes.Equal(recorded, patch) && s.Annotations[fieldPathsAnnotation] == formatPaths(paths)
}

// Restore returns the parent at a revision. Fields that the revision does not record keep their current values,
// and so do all fields that are not within the paths of the controller.
//
// A revision that Metacontroller wrote does not record its paths. For such a revision, Restore uses the paths of the
// controller, and a path that is not in the patch keeps its current value, as it does in Metacontroller.
func Restore(parent *object.Object, revision *v1alpha1.ControllerRevision, paths []string) (*object.Object, error) {
	recorded, found := recordedPaths(revision)
	if !found {
		recorded = paths
	}
	raw := parent.JSON()
	for _, names := range confine(recorded, paths) {
		value, err := field(revision.ParentPatch.Raw, names)
		if err == nil && (value != nil || found) {
			raw, err = withField(raw, names, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s as of ControllerRevision %s: %s: %w",
				parent, revision.Name, strings.Join(names, "."), err)
		}
	}
	restored, err := object.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s as of ControllerRevision %s: %w", parent, revision.Name, err)
	}
	return restored, nil
}

// Recorded returns the paths of a revision. A revision that Metacontroller wrote does not record its paths: they are
// the paths of the current revision of the parent, or the entire spec if that revision does not record them either.
func Recorded(revision, current *v1alpha1.ControllerRevision) []string {
	for _, one := range []*v1alpha1.ControllerRevision{revision, current} {
		if paths, found := recordedPaths(one); found {
			return paths
		}
	}
	return []string{"spec"}
}

// recordedPaths returns the paths of a revision, and false if it does not record them.
func recordedPaths(revision *v1alpha1.ControllerRevision) (paths []string, found bool) {
	err := json.Unmarshal([]byte(revision.Annotations[fieldPathsAnnotation]), &paths)
	return paths, err == nil
}

func formatPaths(paths []string) string {
	text, _ := json.Marshal(paths) // strings always have a JSON form
	return string(text)
}

// confine returns the paths of the fields that may be restored: fields within both a recorded path and a path of the
// controller, except for fields that identify a parent. Users may have written the revision, so its paths are not
// trusted.
func confine(recorded, paths []string) [][]string {
	var confined [][]string
	for _, path := range paths {
		for _, content := range contentOf(split(path)) {
			for _, recordedPath := range recorded {
				switch within := split(recordedPath); {
				case isWithin(within, content):
					confined = append(confined, within)
				case isWithin(content, within):
					confined = append(confined, content)
				}
			}
		}
	}
	return confined
}

// Outside returns the paths that a revision records and that are not within the paths of the controller.
func Outside(revision *v1alpha1.ControllerRevision, paths []string) []string {
	recorded, _ := recordedPaths(revision)
	var outside []string
	for _, path := range recorded {
		if !slices.ContainsFunc(paths, func(around string) bool { return isWithin(split(path), split(around)) }) {
			outside = append(outside, path)
		}
	}
	return outside
}

// isWithin reports whether path is equal to around or below it.
func isWithin(path, around []string) bool {
	return len(path) >= len(around) && slices.Equal(path[:len(around)], around)
}

// contentOf returns the paths of the content in the field at a path. The type of a parent is not content, and of its
// metadata only labels and annotations are.
func contentOf(path []string) [][]string {
	switch {
	case path[0] == "apiVersion", path[0] == "kind":
		return nil
	case path[0] != "metadata":
		return [][]string{path}
	case len(path) == 1:
		return [][]string{{"metadata", "labels"}, {"metadata", "annotations"}}
	case path[1] == "labels", path[1] == "annotations":
		return [][]string{path}
	}
	return nil
}

// split returns the field names of a dotted path. A field with a dot in its name has no path.
func split(path string) []string { return strings.Split(path, ".") }

// field returns the raw JSON at a path; nil if there is none. Everything on the path must be an object.
func field(raw []byte, path []string) ([]byte, error) {
	for i, name := range path {
		switch {
		case i > 0 && string(raw) == "null":
			return nil, nil
		case i > 0 && raw[0] != '{':
			return nil, notAnObject(path[:i])
		}
		if raw = object.Lookup(raw, name); raw == nil {
			return nil, nil
		}
	}
	return raw, nil
}

// withField returns raw with the field at a path set, or without the field if value is nil. It decodes only the
// objects on the path.
func withField(raw []byte, path []string, value []byte) ([]byte, error) {
	if len(path) > 1 {
		below := object.Lookup(raw, path[0])
		switch {
		case below != nil && string(below) != "null":
			if below[0] != '{' {
				return nil, notAnObject(path[:1])
			}
		case value == nil:
			return raw, nil
		default:
			below = []byte("{}")
		}
		var err error
		if value, err = withField(below, path[1:], value); err != nil {
			return nil, err
		}
	}
	return object.WithMember(raw, path[0], value)
}

func notAnObject(path []string) error {
	return fmt.Errorf("its field %s is not an object", strings.Join(path, "."))
}
