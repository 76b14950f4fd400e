// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// missingType is a type that the host does not have and that a parent is to be shown.
type missingType struct {
	parent pipeline.Key
	host.UnknownTypeError
}

// note remembers whether a rule of an answer names a type that the host does not have.
func (o *Observer) note(answer *Answer, parent pipeline.Key, err error) {
	unknown, missing := errors.AsType[*host.UnknownTypeError](err)
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

// MissesTypeOf tells whether a rule names a type of the API group that the host does not have.
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

// Recheck has the parents synced whose missing types the host has got.
func (o *Observer) Recheck(ctx context.Context) {
	o.mu.RLock()
	missing := slices.Collect(maps.Values(o.missing))
	o.mu.RUnlock()
	there := map[host.UnknownTypeError]bool{}
	for _, m := range missing {
		if _, asked := there[m.UnknownTypeError]; !asked {
			_, err := o.Resolve(ctx, m.APIVersion, m.Resource)
			there[m.UnknownTypeError] = err == nil
		}
		if there[m.UnknownTypeError] {
			o.Changed(m.parent)
		}
	}
}
