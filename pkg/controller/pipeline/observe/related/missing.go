// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// missingType is a type that a rule for a parent names and that the host does not have.
type missingType struct {
	parent object.Key
	discovery.UnknownTypeError
}

// note notes whether a rule of an answer names a type that the host does not have, given the error
// of its observation.
func (o *Observer) note(answer *Answer, parent object.Key, err error) {
	unknown, missing := errors.AsType[*discovery.UnknownTypeError](err)
	o.mu.RLock()
	_, noted := o.missing[answer]
	o.mu.RUnlock()
	if !missing && !noted {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing {
		o.missing[answer] = missingType{parent, *unknown}
	} else {
		delete(o.missing, answer)
	}
}

// MissesTypeOf reports whether a rule names a type of the API group that the host does not have.
func (o *Observer) MissesTypeOf(group string) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, missing := range o.missing {
		if version, err := schema.ParseGroupVersion(missing.APIVersion); err == nil && version.Group == group {
			return true
		}
	}
	return false
}

// Recheck enqueues the parents whose missing types the host has now.
func (o *Observer) Recheck(ctx context.Context) {
	o.mu.RLock()
	missing := slices.Collect(maps.Values(o.missing))
	o.mu.RUnlock()
	found := map[discovery.UnknownTypeError]bool{}
	for _, m := range missing {
		if _, asked := found[m.UnknownTypeError]; !asked {
			_, err := o.Resolve(ctx, m.APIVersion, m.Resource)
			found[m.UnknownTypeError] = err == nil
		}
		if found[m.UnknownTypeError] {
			o.Changed(m.parent)
		}
	}
}
