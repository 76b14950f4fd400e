// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// ResolveInAnyVersion finds a resource as Resolve does, and in another version of its
// group if the host no longer serves it in the one that is named.
func (d *Discovery) ResolveInAnyVersion(ctx context.Context, apiVersion, resource string) (pipeline.Type, error) {
	found, err := d.Resolve(ctx, apiVersion, resource)
	unknown, ok := errors.AsType[*UnknownTypeError](err)
	if !ok {
		return found, err
	}
	versions, err := d.versionsOf(ctx, apiVersion)
	if err != nil {
		return pipeline.Type{}, &Error{APIVersion: apiVersion, Err: err}
	}
	for _, version := range versions {
		found, err := d.Resolve(ctx, version.GroupVersion, resource)
		if _, ok := errors.AsType[*UnknownTypeError](err); !ok {
			return found, err
		}
	}
	return pipeline.Type{}, unknown
}

// versionsOf asks the host for the versions of an API group. The core group and a group
// that is not there have none.
func (d *Discovery) versionsOf(ctx context.Context, apiVersion string) ([]metav1.GroupVersionForDiscovery, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || version.Group == "" {
		return nil, err
	}
	body, err := d.client.Get(ctx, "/apis/"+version.Group, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var group metav1.APIGroup
	err = json.Unmarshal(body, &group)
	return group.Versions, err
}
