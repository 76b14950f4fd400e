// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Manifest is an object in a file.
type Manifest struct {
	*unstructured.Unstructured
	// Path is that of the file; "-" for standard input.
	Path string
}

// extensions are those of the files that are read in a folder.
var extensions = []string{".yaml", ".yml", ".json"}

// Read returns the objects in files and folders, in order. A path - is standard input.
func Read(paths []string, stdin io.Reader) ([]Manifest, error) {
	var all []Manifest
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
			if files, err = FilesIn(path); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			read, err := readFile(file, stdin)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			all = append(all, read...)
		}
	}
	return all, nil
}

// FilesIn returns the paths of the manifests in a folder, without those in folders below it.
func FilesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains(extensions, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	return files, nil
}

func readFile(path string, stdin io.Reader) ([]Manifest, error) {
	from := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	const lookahead = 4096
	decoder := yaml.NewYAMLOrJSONDecoder(from, lookahead)
	var all []Manifest
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(raw) == 0 || string(raw) == "null":
			continue
		}
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
			return nil, err
		}
		found, err := objectsIn(object)
		if err != nil {
			return nil, err
		}
		for _, object := range found {
			all = append(all, Manifest{Unstructured: object, Path: path})
		}
	}
}

// objectsIn returns an object, or the items if it is a list.
func objectsIn(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil, errors.New("there is an object without apiVersion or kind")
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	list, err := object.ToList()
	if err != nil {
		return nil, err
	}
	var items []*unstructured.Unstructured
	for i := range list.Items {
		items = append(items, &list.Items[i])
	}
	return items, nil
}

// Controller returns the controller that an object of a file is; nil if it is something else.
func (m *Manifest) Controller() (*Controller, error) {
	if m.GroupVersionKind().Group != v1alpha1.GroupName {
		return nil, nil
	}
	controller := &Controller{Kind: m.GetKind(), Path: m.Path}
	switch controller.Kind {
	case Composite:
		controller.Object = &v1alpha1.CompositeController{}
	case Decorator:
		controller.Object = &v1alpha1.DecoratorController{}
	default:
		return nil, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object, controller.Object); err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", m.Path, m.GetKind(), m.GetName(), err)
	}
	var err error
	controller.Candidate, err = json.Marshal(m.Object["spec"])
	return controller, err
}
