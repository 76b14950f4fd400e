// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// WarningsPlugin is the name of the plugin Warnings.
const WarningsPlugin = "ControllerWarnings"

// These bound how long an author waits for warnings. What is not known by then is left out. A cluster that is busy still
// answers in three seconds, and a name that is not found in one is probably not to be found.
const (
	warningsTimeout = 3 * time.Second
	resolveTimeout  = time.Second
)

// Warnings warns authors of types that the host does not serve, of rules that can never have a child,
// of types that spec.namespaces excludes, of fields that parents cannot have, of hooks that cannot be resolved, of other controllers of the
// same parents, and of parents that a change lets go of. It refuses nothing.
type Warnings struct {
	*admission.Handler
	hostUser
	parents  *ParentIndex
	resolver HookResolver
}

var (
	_ admission.ValidationInterface = &Warnings{}
	_ WantsHost                     = &Warnings{}
)

// NewWarnings returns the plugin.
func NewWarnings(parents *ParentIndex, resolver HookResolver) *Warnings {
	return &Warnings{
		Handler:  admission.NewHandler(admission.Create, admission.Update),
		parents:  parents,
		resolver: resolver,
	}
}

// Validate warns about a new controller, or one whose spec changes. It returns no error.
func (w *Warnings) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, stored := controllerOf(request.GetObject()), controllerOf(request.GetOldObject())
	if updated == nil || request.GetSubresource() != "" || updated.hasSpecOf(stored) {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, warningsTimeout)
	defer cancel()
	var all [5][]string
	var group sync.WaitGroup
	group.Go(func() { all[0] = w.types(asking, updated) })
	group.Go(func() {
		if text := w.host.lostFields(asking, updated); text != "" {
			all[1] = []string{text}
		}
	})
	group.Go(func() {
		resolving, cancel := context.WithTimeout(asking, resolveTimeout)
		defer cancel()
		all[2] = w.resolver.warnings(resolving, updated)
	})
	all[3] = w.parents.warnings(request.GetName(), updated)
	if stored != nil {
		all[4] = letGo(stored, updated)
	}
	group.Wait()
	for _, text := range slices.Concat(all[:]...) {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

// types returns warnings about types that the host does not serve yet, about parents that have no
// status, about rules that can never have a child, and about types outside of all namespaces.
func (w *Warnings) types(ctx context.Context, c *controller) (warnings []string) {
	rules := slices.Concat(c.parents, c.children, c.watched, c.related)
	known, lists, err := w.host.lookUpTypes(ctx, rules)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to check whether the cluster serves the types of a controller", "err", err)
		return nil
	}
	allTypes := sync.OnceValue(func() []*metav1.APIResourceList { return w.host.allTypes(ctx) })
	for i, rule := range rules {
		of := known[rule.GroupVersionResource]
		if !of.served {
			hint := ""
			// What is in the same version counts before all else, and is known already.
			others := slices.DeleteFunc(slices.Clone(lists), func(list *metav1.APIResourceList) bool {
				return list.GroupVersion != rule.GroupVersion().String()
			})
			meant := nearest.Resource(rule.GroupVersionResource, others)
			if meant == "" {
				meant = nearest.Resource(rule.GroupVersionResource, allTypes())
			}
			if meant != "" {
				hint = fmt.Sprintf("; did you mean %s?", meant)
			}
			consequence := "the controller starts as soon as it does"
			if i >= len(c.parents)+len(c.children)+len(c.watched) {
				consequence = "parents whose customize hook asks for it fail until it does"
			}
			warnings = append(warnings, fmt.Sprintf("%s: the cluster does not serve %q in %s yet; %s%s",
				rule.path, rule.Resource, rule.GroupVersion(), consequence, hint))
		}
		if of.served && !of.hasStatus && i < len(c.parents) && !c.decorates {
			consequence := "so the status that hooks answer is lost"
			if !scheme.Scheme.IsGroupRegistered(rule.Group) { // it is not built into Kubernetes
				consequence = "so the controller does not run until its CustomResourceDefinition has one: add subresources: {status: {}} to the version"
			}
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s has no status subresource, %s", rule.path, rule.Resource, rule.GroupVersion(), consequence))
		}
	}
	warnings = append(warnings, childless(c, known)...)
	if len(c.access.Namespaces) > 0 {
		warnings = append(warnings, outsideNamespaces(slices.Concat(c.parents, c.children, c.related), known)...)
	}
	return warnings
}

// outsideNamespaces returns warnings about types that a controller of namespaces cannot have.
func outsideNamespaces(rules []typeRule, known map[schema.GroupVersionResource]typeInfo) (warnings []string) {
	for _, rule := range rules {
		if of := known[rule.GroupVersionResource]; of.served && !of.namespaced {
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s is cluster-scoped, and spec.namespaces limits the controller to objects in namespaces, "+
				"so the controller does not run: remove spec.namespaces, or this type", rule.path, rule.Resource, rule.GroupVersion()))
		}
	}
	return warnings
}

// childless returns warnings about rules that can never have a child.
func childless(c *controller, known map[schema.GroupVersionResource]typeInfo) (warnings []string) {
	if len(c.parents) == 0 || slices.ContainsFunc(c.parents, func(parent typeRule) bool { return !known[parent.GroupVersionResource].namespaced }) {
		return nil
	}
	for _, rule := range c.children {
		if of := known[rule.GroupVersionResource]; of.served && !of.namespaced {
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s is cluster-scoped, and the parents are namespaced: this rule can never have a child, "+
				"because an object without a namespace cannot belong to one in a namespace", rule.path, rule.Resource, rule.GroupVersion()))
		}
	}
	return warnings
}
