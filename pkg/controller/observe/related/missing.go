// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// note remembers whether a rule for the parent names a type that the host does not have.
func (o *Observer) note(parent stage.Key, err error) {
	unknown, missing := errors.AsType[*host.UnknownTypeError](err)
	o.mu.RLock()
	_, noted := o.missing[parent]
	o.mu.RUnlock()
	if !missing && !noted {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing {
		o.missing[parent] = *unknown
	} else {
		delete(o.missing, parent)
	}
}

// Misses tells whether a rule names a type of the API group that the host does not have.
func (o *Observer) Misses(group string) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, unknown := range o.missing {
		if version, err := schema.ParseGroupVersion(unknown.APIVersion); err == nil && version.Group == group {
			return true
		}
	}
	return false
}

// Recheck has the parents synced whose missing types the host has got.
func (o *Observer) Recheck(ctx context.Context) {
	o.mu.RLock()
	missing := maps.Clone(o.missing)
	o.mu.RUnlock()
	there := map[host.UnknownTypeError]bool{}
	for parent, unknown := range missing {
		if _, asked := there[unknown]; !asked {
			_, err := o.Resolve(ctx, unknown.APIVersion, unknown.Resource)
			there[unknown] = err == nil
		}
		if there[unknown] {
			o.Changed(parent)
		}
	}
}
