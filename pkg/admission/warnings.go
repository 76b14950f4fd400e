// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"
)

// WarningsPlugin is the name of the plugin Warnings.
const WarningsPlugin = "ControllerWarnings"

// warningsTimeout is how long an author waits at most for what could be odd. What is not known by then is not told.
const warningsTimeout = time.Second

// Warnings tells authors what the host, or the name service, makes of their controller. It refuses nothing.
type Warnings struct {
	*admission.Handler
	host     Host
	siblings *Siblings
	names    hookNames
}

var (
	_ admission.ValidationInterface     = &Warnings{}
	_ admission.InitializationValidator = &Warnings{}
	_ WantsHost                         = &Warnings{}
)

// NewWarnings makes the plugin.
func NewWarnings(siblings *Siblings, names HookNames) *Warnings {
	return &Warnings{
		Handler:  admission.NewHandler(admission.Create, admission.Update),
		siblings: siblings,
		names:    hookNames{names},
	}
}

// SetHost says how to ask the host.
func (w *Warnings) SetHost(host Host) { w.host = host }

// ValidateInitialization tells whether the plugin has what it needs.
func (w *Warnings) ValidateInitialization() error { return w.host.validate() }

// Validate warns about a new controller, or one whose spec changes. It returns no error.
func (w *Warnings) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, stored := controllerOf(request.GetObject()), controllerOf(request.GetOldObject())
	if updated == nil || request.GetSubresource() != "" || stored != nil && apiequality.Semantic.DeepEqual(updated.spec, stored.spec) {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, warningsTimeout)
	defer cancel()
	var all [3][]string
	var group sync.WaitGroup
	group.Go(func() { all[0] = w.types(asking, updated) })
	group.Go(func() { all[1] = w.names.warnings(asking, updated) })
	all[2] = w.siblings.warnings(request.GetName(), updated)
	group.Wait()
	for _, text := range slices.Concat(all[:]...) {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

// types warns about types that the host does not have yet, and about parents that have no status.
func (w *Warnings) types(ctx context.Context, c *controller) (warnings []string) {
	rules := slices.Concat(c.parents, c.children)
	known, err := w.host.know(ctx, rules)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Not looking whether the host serves the types of a controller", "err", err)
		return nil
	}
	for i, rule := range rules {
		of := known[rule.GroupVersionResource]
		if !of.served {
			warnings = append(warnings, fmt.Sprintf("%s: the host does not serve %q in %s yet; the controller starts as soon as it does",
				rule.path, rule.Resource, rule.GroupVersion()))
		}
		if of.served && !of.hasStatus && i < len(c.parents) && !c.decorates {
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s has no status subresource, so the status that hooks answer is not written; "+
				"if the type comes from a CustomResourceDefinition, the controller does not run before it has one", rule.path, rule.Resource, rule.GroupVersion()))
		}
	}
	return warnings
}
