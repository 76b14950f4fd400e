// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

const (
	group = v1alpha1.GroupName
	// servedVersion is the version that everybody uses. copyVersion is a second one of the definitions, for this package alone.
	servedVersion = "v1alpha1"
	copyVersion   = "v0migration"

	// apiServiceName is the APIService that is switched, and ImportsAPIService the one by which this server is reached before.
	apiServiceName    = servedVersion + "." + group
	ImportsAPIService = "v1alpha1." + migration.GroupName
	// automanagedLabel is on APIServices that kube-apiserver makes for definitions, and keeps as they are.
	automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"
)

// kind is one of the kinds that move.
type kind struct {
	name       string
	resource   string
	namespaced bool
}

// kinds returns the kinds in the order in which they are copied.
func kinds() []kind {
	return []kind{
		{"CompositeController", "compositecontrollers", false},
		{"DecoratorController", "decoratorcontrollers", false},
		{"ControllerRevision", "controllerrevisions", true},
	}
}

func (k kind) definition() string { return k.resource + "." + group }

func (k kind) in(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: k.resource}
}

func apiServices() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}
