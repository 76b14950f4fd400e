// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

// Access says as whom a controller acts, and what it may reach.
type Access struct {
	ServiceAccount   *ServiceAccountReference
	Namespaces       []string
	RelatedResources []ResourceRule
}

// ServiceAccountReference names a ServiceAccount of the host cluster.
type ServiceAccountReference struct {
	Namespace string
	Name      string
}
