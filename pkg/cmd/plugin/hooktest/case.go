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

// Case is one test: what exists, and what is expected of a sync.
type Case struct {
	// Controller is the one whose sync is tested: its name, or cc/NAME or dec/NAME. It may be left out if only one of the
	// suite is for the parent.
	Controller string `json:"controller,omitempty"`
	// Parent is the parent.
	Parent Given `json:"parent"`
	// Deleted is true if the parent is being deleted, so that it is finalized.
	Deleted bool `json:"deleted,omitempty"`
	// Children are those of the parent, as the controller has made them.
	Children []Given `json:"children,omitempty"`
	// Others are all other objects that exist, such as those that a customize hook asks for.
	Others []Given `json:"others,omitempty"`
	// Revisions are earlier versions of the parent that children are still at, during a rolling update.
	Revisions []Revision `json:"revisions,omitempty"`
	// Expect is what is expected; nil if that is not written yet.
	Expect *Expected `json:"expect,omitempty"`

	// Name is the name of the file without its extension, and Path the path of it.
	Name string `json:"-"`
	Path string `json:"-"`
}

// Revision is an earlier version of the parent.
type Revision struct {
	// Parent are the fields that were different then.
	Parent map[string]any `json:"parent"`
	// Children are the names of the children that are at this version, by their kinds.
	Children map[string][]string `json:"children,omitempty"`
}

// Expected is what is expected of a sync. What is not there is not looked at, except that a sync must not fail, must
// leave out no child and must give no warning if that is not expected.
type Expected struct {
	// Exact is true if everything has to be exactly so. Otherwise fields of objects that are not named are not looked at.
	Exact bool `json:"exact,omitempty"`
	// Result is Changed, Unchanged or Failed.
	Result any `json:"result,omitempty"`
	// Error is a part of the error that the sync fails with.
	Error string `json:"error,omitempty"`
	// Refused are parts of why children are left out.
	Refused []string `json:"refused,omitempty"`
	// Status, Labels, Annotations, Children, Finalized and ResyncAfter are what the sync or finalize hook answers.
	Status      any `json:"status,omitempty"`
	Labels      any `json:"labels,omitempty"`
	Annotations any `json:"annotations,omitempty"`
	Children    any `json:"children,omitempty"`
	Finalized   any `json:"finalized,omitempty"`
	ResyncAfter any `json:"resyncAfter,omitempty"`
	// Related are the rules that the customize hook answers.
	Related any `json:"related,omitempty"`
	// Steps are the writes that follow, in their order: each as text such as "create Pod web", or as an object.
	Steps any `json:"steps,omitempty"`
	// Events are what the hook wants to be told, and Warnings what is probably a mistake.
	Events   any `json:"events,omitempty"`
	Warnings any `json:"warnings,omitempty"`
	// Rollout is how far a rolling update is.
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

// Given are objects in a case: one that is written there, or those of a file.
type Given struct {
	// Object is the object that is written there.
	Object map[string]any
	// File is the path of the file, relative to the case.
	File string
	// Name selects the objects of the file with this name; empty for all.
	Name string
	// With are fields that are different from those in the file.
	With map[string]any
}

// inFile is the form of Given for a file.
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

// isEmpty reports whether nothing is given.
func (g *Given) isEmpty() bool { return g.File == "" && g.Object == nil }

// objects returns the objects, which belong to the caller. Files are beside the case.
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

// change puts the fields that are different into an object.
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
