// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// source is an object as another server has it.
type source struct {
	*resource.Importer
	namespace, name string
	// object is nil if it is deleted there.
	object runtime.Object
	state
}

func (s *source) String() string {
	if s.namespace == "" {
		return s.Kind + " " + s.name
	}
	return s.Kind + " " + s.namespace + "/" + s.name
}

// read reads the object of an Import.
func (r *REST) read(of *migration.Import) (*source, error) {
	var content unstructured.Unstructured
	if err := json.Unmarshal(of.Spec.Object.Raw, &content.Object); err != nil || content.Object == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.object is no object: %v", err))
	}
	index := slices.IndexFunc(r.importers, func(i *resource.Importer) bool { return i.Kind == content.GetKind() })
	if index < 0 || content.GroupVersionKind().Group != v1alpha1.GroupName {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.object is a %s, which cannot be imported", content.GroupVersionKind()))
	}
	read := &source{Importer: r.importers[index], namespace: content.GetNamespace(), name: content.GetName(), state: state{uid: types.UID(of.Name)}}
	if of.Spec.Deleted {
		return read, nil
	}
	if of.Spec.Exported {
		read.resourceVersion = content.GetResourceVersion()
		return read, nil
	}
	if of.Name == "" || of.Name != string(content.GetUID()) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s has the UID %q: that must be the name of the Import, which is %q", read, content.GetUID(), of.Name))
	}
	content.SetAPIVersion(v1alpha1.SchemeGroupVersion.String())
	version := content.GetResourceVersion()
	encoded, err := json.Marshal(content.Object)
	if err != nil {
		return nil, err
	}
	if read.object, err = runtime.Decode(r.codec, encoded); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s cannot be taken as it is, and nothing of it may be lost: %v", read, err))
	}
	if read.state, err = r.stateOf(read.object); err != nil {
		return nil, err
	}
	read.resourceVersion = version
	return read, nil
}
