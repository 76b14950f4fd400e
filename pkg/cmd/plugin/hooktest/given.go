// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

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
