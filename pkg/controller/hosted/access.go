// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// AccountOf returns the account that a controller acts as.
func AccountOf(access *v1alpha1.Access) host.Account {
	if access.ServiceAccount == nil {
		return host.Account{}
	}
	return host.Account{Namespace: access.ServiceAccount.Namespace, Name: access.ServiceAccount.Name}
}

// NamespacesOf returns the namespaces that a controller is limited to.
func NamespacesOf(access *v1alpha1.Access) object.Namespaces {
	return object.NewNamespaces(access.Namespaces)
}

// ResolveAccess sets as whom the controller acts, and what it may reach. The types of parents and
// children must be resolved. The error names one that is outside of all namespaces, or it is a
// *discovery.Error if the host cannot be asked for the related types.
func (s *Spec) ResolveAccess(ctx context.Context, discovery *discovery.Discovery, access *v1alpha1.Access) error {
	if account := access.ServiceAccount; account != nil && (account.Namespace == "" || account.Name == "") {
		return errors.New("spec.serviceAccount names no account: set its namespace and its name")
	}
	s.Access, s.Namespaces = *access, NamespacesOf(access)
	if err := s.resolveRelated(ctx, discovery); err != nil {
		return fmt.Errorf("spec.relatedResources: %w", err)
	}
	for _, of := range slices.Concat(s.types(), s.Related) {
		if !of.Namespaced && !s.Namespaces.All() {
			return fmt.Errorf("spec.namespaces limits the controller to objects in namespaces, and %s is cluster-scoped: "+
				"remove spec.namespaces, or this type from the spec", of)
		}
	}
	return nil
}

// resolveRelated resolves the related types, of a controller that has an account or is limited to namespaces. It leaves
// out those that the host does not serve: there is nothing to show of them, so no right to them is asked for.
func (s *Spec) resolveRelated(ctx context.Context, discovery *discovery.Discovery) error {
	if s.Access.ServiceAccount == nil && s.Namespaces.All() {
		return nil
	}
	for _, rule := range s.Access.RelatedResources {
		found, err := discovery.Resolve(ctx, rule.APIVersion, rule.Resource)
		if isUnknown(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.Related = append(s.Related, found)
	}
	return nil
}

func isUnknown(err error) bool {
	_, unknown := errors.AsType[*discovery.UnknownTypeError](err)
	return unknown
}
