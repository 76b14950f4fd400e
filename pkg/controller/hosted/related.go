// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// newRelatedObserver returns an observer of related objects, which asks the customize hook by ask, and tells
// of parents whose related objects may have changed. It is nil without a customize hook.
func (c *Controller) newRelatedObserver(ask related.AskFunc, changed func(parents ...object.Key)) *related.Observer {
	if c.planner.Hooks.Customize == nil {
		return nil
	}
	return related.New(c.relatedConfig(ask, changed))
}

func (c *Controller) relatedConfig(ask related.AskFunc, changed func(parents ...object.Key)) related.Config {
	config := related.Config{
		Informers:   c.Informers,
		Resolve:     c.resolveRelated,
		Ask:         ask,
		Confinement: confinement(c.spec),
		NotShown:    notShown(c.spec),
		Namespaces:  c.spec.Namespaces,
		Changed:     changed,
		Types:       c.spec.Access.RelatedResources,
	}
	if account := c.spec.Access.ServiceAccount; account != nil {
		config.Require = func(required []rights.Required, changed func()) *permissions.Requirement {
			return c.Permissions.Require(account, required, changed)
		}
	}
	return config
}

// resolveRelated returns a type that the customize hook names. The author of the hook reads the error.
func (c *Controller) resolveRelated(ctx context.Context, apiVersion, resource string) (object.Type, error) {
	found, err := c.Discovery.Resolve(ctx, apiVersion, resource)
	return found, c.Discovery.WithSuggestion(ctx, err)
}

// MissesTypeOf reports whether the host lacks a related type of the API group, or one of spec.resyncOn.
func (c *Controller) MissesTypeOf(group string) bool {
	isMissing := func(one WatchedObject) bool { return one.why != nil && one.Missing.Group == group }
	return slices.ContainsFunc(c.spec.ResyncOn, isMissing) || c.planner.Related != nil && c.planner.Related.MissesTypeOf(group)
}

// Recheck enqueues the parents whose related types were missing and exist now.
func (c *Controller) Recheck(ctx context.Context) {
	if c.planner.Related != nil {
		c.planner.Related.Recheck(ctx)
	}
}
