// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Manifest is an object in a file.
type Manifest struct {
	*unstructured.Unstructured
	// Path is that of the file, or its URL; STDIN for standard input.
	Path string
}

// Read returns the objects in files, in order, as kubectl reads them. It asks no cluster.
func Read(files resource.FilenameOptions) ([]Manifest, error) {
	if files.RequireFilenameOrKustomize() != nil {
		return nil, nil
	}
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &files).Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	all := make([]Manifest, 0, len(infos))
	for _, info := range infos {
		all = append(all, Manifest{Unstructured: info.Object.(*unstructured.Unstructured), Path: info.Source})
	}
	return all, nil
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
