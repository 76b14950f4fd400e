// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve makes the parentcontroller.Spec of a CompositeController or DecoratorController. It reads the
// controller object and looks up its types with discovery; it changes nothing.
//
// A CompositeController has one parent type. Its children are those that the parent controls and its label selector
// matches, and orphans that match are adopted. Children may be rolled out one after the other.
//
// A DecoratorController has any number of target types, which are its parents; labels and annotations select the
// targets. Its children, the attachments, are the objects that the target controls and that have an annotation with the
// name of the controller. A DecoratorController adopts nothing and does not roll out attachments.
package resolve

import (
	"context"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
)

// sharedFields are the fields that both kinds have, and that do not say what parents and children are.
type sharedFields struct {
	access              *v1alpha1.Access
	resyncOn            []v1alpha1.WatchedObject
	paused              *bool
	resyncPeriodSeconds *int32
}

// resolve sets the fields in a spec whose types of parents and children are resolved.
func (f *sharedFields) resolve(
	ctx context.Context, discovery *discovery.Discovery, spec *parentcontroller.Spec,
) error {
	if err := spec.ResolveAccess(ctx, discovery, f.access); err != nil {
		return err
	}
	if err := spec.ResolveResyncOn(ctx, discovery, f.resyncOn); err != nil {
		return err
	}
	spec.ResolveSchemas(ctx, discovery)
	spec.Paused = ptr.Deref(f.paused, false)
	spec.ResolveResync(f.resyncPeriodSeconds)
	return nil
}
