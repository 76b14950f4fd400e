// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// Case is one test: the existing objects, and the expected result of a sync.
type Case struct {
	// Controller is the controller to test: its name, cc/NAME or dec/NAME. It is optional if only one controller of the
	// suite matches the parent.
	Controller string `json:"controller,omitempty"`
	// Parent is the parent.
	Parent Given `json:"parent"`
	// Deleted is true if the parent is being deleted; then the case tests the finalize hook.
	Deleted bool `json:"deleted,omitempty"`
	// Children are the children of the parent, as the controller has created them.
	Children []Given `json:"children,omitempty"`
	// Others are all other objects that exist, such as those that a customize hook asks for.
	Others []Given `json:"others,omitempty"`
	// Revisions are earlier versions of the parent that children are still at, during a rolling update.
	Revisions []Revision `json:"revisions,omitempty"`
	// Expect is the expected result; nil if it is not written yet.
	Expect *Expected `json:"expect,omitempty"`

	// Name is the name of the file without its extension, and Path is its path.
	Name string `json:"-"`
	Path string `json:"-"`
}

// Revision is an earlier version of the parent.
type Revision struct {
	// Parent has the fields that differed in this version.
	Parent map[string]any `json:"parent"`
	// Children are the names of the children that are at this version, by their kinds.
	Children map[string][]string `json:"children,omitempty"`
}

// Expected is the expected result of a sync. Missing fields are not compared, except that a sync must not fail, refuse
// children or warn unexpectedly.
type Expected struct {
	// Exact is true if everything must be equal. Otherwise fields of objects that are missing here are ignored.
	Exact bool `json:"exact,omitempty"`
	// Result is Changed, Unchanged or Failed.
	Result any `json:"result,omitempty"`
	// Error is a part of the error of the sync.
	Error string `json:"error,omitempty"`
	// Refused are parts of the reasons for refused children.
	Refused []string `json:"refused,omitempty"`
	// Status, Labels, Annotations, Children, Finalized and ResyncAfter are the response of the sync or finalize hook.
	Status      any `json:"status,omitempty"`
	Labels      any `json:"labels,omitempty"`
	Annotations any `json:"annotations,omitempty"`
	Children    any `json:"children,omitempty"`
	Finalized   any `json:"finalized,omitempty"`
	ResyncAfter any `json:"resyncAfter,omitempty"`
	// Related are the rules in the response of the customize hook.
	Related any `json:"related,omitempty"`
	// Steps are the writes that follow, in order: each as text such as "create Pod web", or as an object.
	Steps any `json:"steps,omitempty"`
	// Events are the events of the hook, and Warnings are probable mistakes.
	Events   any `json:"events,omitempty"`
	Warnings any `json:"warnings,omitempty"`
	// Rollout is the progress of a rolling update.
	Rollout any `json:"rollout,omitempty"`
}

// readCase reads a case.
func readCase(path string) (*Case, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := &Case{Path: path, Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	if err := yaml.UnmarshalStrict(raw, read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if read.Parent.isEmpty() {
		return nil, fmt.Errorf("%s: %w", path, errors.New("it has no parent"))
	}
	return read, nil
}

// Given is an inline object of a case, or the objects of a file.
type Given struct {
	// Object is the inline object.
	Object map[string]any
	// File is the path of the file, relative to the case.
	File string
	// Name selects objects of the file by name; empty selects all.
	Name string
	// With overrides fields of the file.
	With map[string]any
}

// inFile is the JSON form of Given for a file.
type inFile struct {
	File string         `json:"file"`
	Name string         `json:"name,omitempty"`
	With map[string]any `json:"with,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Given) UnmarshalJSON(raw []byte) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '"' {
		return json.Unmarshal(raw, &g.File)
	}
	if err := utiljson.Unmarshal(raw, &g.Object); err != nil {
		return err
	}
	if _, isFile := g.Object["file"]; !isFile {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var of inFile
	if err := decoder.Decode(&of); err != nil {
		return err
	}
	*g = Given{File: of.File, Name: of.Name, With: of.With}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (g Given) MarshalJSON() ([]byte, error) {
	switch {
	case g.File == "":
		return json.Marshal(g.Object)
	case g.Name == "" && g.With == nil:
		return json.Marshal(g.File)
	}
	return json.Marshal(inFile{File: g.File, Name: g.Name, With: g.With})
}

// isEmpty reports whether there is neither an object nor a file.
func (g *Given) isEmpty() bool { return g.File == "" && g.Object == nil }

// objects returns the objects, which belong to the caller. Paths of files are relative to the case.
func (g *Given) objects(of *Case) ([]*unstructured.Unstructured, error) {
	if g.File == "" {
		copied := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(g.Object)}
		if copied.GetKind() == "" || copied.GetAPIVersion() == "" {
			return nil, errors.New("it has no apiVersion or kind")
		}
		return []*unstructured.Unstructured{copied}, nil
	}
	path := filepath.Join(filepath.Dir(of.Path), filepath.FromSlash(g.File))
	read, err := lookup.Read(resource.FilenameOptions{Filenames: []string{path}})
	if err != nil {
		return nil, err
	}
	read = slices.DeleteFunc(read, func(one lookup.Manifest) bool { return g.Name != "" && one.GetName() != g.Name })
	if len(read) == 0 {
		return nil, fmt.Errorf("there is no such object in %s", path)
	}
	var objects []*unstructured.Unstructured
	for _, one := range read {
		if err := g.change(one.Unstructured); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, one.Unstructured)
	}
	return objects, nil
}

// change overrides fields of an object.
func (g *Given) change(object *unstructured.Unstructured) error {
	if g.With == nil {
		return nil
	}
	changes, err := json.Marshal(g.With)
	if err != nil {
		return err
	}
	return merge(object, changes)
}

// merge merges a JSON merge patch into an object.
func merge(object *unstructured.Unstructured, patch []byte) error {
	before, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return err
	}
	return object.UnmarshalJSON(after)
}
