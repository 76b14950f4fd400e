// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decoratorcontroller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// NewStorage makes the storage of DecoratorControllers and their status.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*resource.Storage, error) {
	return resource.NewStorage(kind(), scheme, optsGetter)
}
