// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// newRelatedObserver returns an observer of related objects, which asks the customize hook by ask, and tells
// of parents whose related objects may have changed. It is nil without a customize hook.
func (c *Controller) newRelatedObserver(ask related.AskFunc, changed func(parents ...object.Key)) *related.Observer {
	if c.hooks.customize == nil {
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

// customize calls the customize hook.
func (l *line) customize(ctx context.Context, snapshot *pipeline.Snapshot) ([]pipeline.RelatedRule, []pipeline.Warning, error) {
	rules, warnings, err := l.hooks.customize.Customize(ctx, snapshot)
	l.called(hook.Customize, snapshot, nil, err)
	return rules, warnings, err
}

// customizeAnswerOf returns the customize hook's answer about a parent, empty before its first
// call; nil without a customize hook.
func (l *line) customizeAnswerOf(state *parentState) *related.Answer {
	if l.related != nil && state.customizeAnswer == nil {
		state.customizeAnswer = &related.Answer{}
	}
	return state.customizeAnswer
}

// observeRelated adds the parent's related objects to the snapshot.
func (l *line) observeRelated(ctx context.Context, answer *related.Answer, snapshot *pipeline.Snapshot) error {
	if l.related == nil {
		return nil
	}
	return l.related.Observe(ctx, answer, snapshot)
}

// forgetAnswer releases what was observed because of an answer of the customize hook.
func (l *line) forgetAnswer(answer *related.Answer) {
	if l.related != nil {
		l.related.Forget(answer)
	}
}

// MissesTypeOf reports whether the host lacks a related type of the API group, or one of spec.resyncOn.
func (c *Controller) MissesTypeOf(group string) bool {
	isMissing := func(one WatchedObject) bool { return one.why != nil && one.Missing.Group == group }
	return slices.ContainsFunc(c.spec.ResyncOn, isMissing) || c.related != nil && c.related.MissesTypeOf(group)
}

// Recheck enqueues the parents whose related types were missing and exist now.
func (c *Controller) Recheck(ctx context.Context) {
	if c.related != nil {
		c.related.Recheck(ctx)
	}
}
