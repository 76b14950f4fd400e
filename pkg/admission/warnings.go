// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// WarningsPlugin is the name of the plugin Warnings.
const WarningsPlugin = "ControllerWarnings"

// These bound how long an author waits for warnings. A warning that takes longer is left out. Even a busy cluster answers
// within three seconds, and a name that is not resolved within one probably does not exist.
const (
	warningsTimeout = 3 * time.Second
	resolveTimeout  = time.Second
)

// Warnings warns authors of types that the host does not serve, of rules that can never have a child, of types that
// spec.namespaces excludes, of fields that parents cannot have, of inline hooks that do not fit the schemas, of
// hooks that cannot be resolved, of other controllers of the same parents, and of parents that a change releases.
// It refuses nothing.
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
	var all [6][]string
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
	group.Go(func() { all[5] = w.host.inlineHooks(asking, updated) })
	all[3] = w.parents.warnings(request.GetName(), updated)
	if stored != nil {
		all[4] = releasedParents(stored, updated)
	}
	group.Wait()
	for _, text := range slices.Concat(all[:]...) {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

// types returns warnings about types that the host does not serve yet, about parents that have no status, about rules
// that can never have a child, and about cluster-scoped types.
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
			// The types of the same version come first, and are already known.
			others := slices.DeleteFunc(slices.Clone(lists), func(list *metav1.APIResourceList) bool {
				return list.GroupVersion != rule.GroupVersion().String()
			})
			meant := nearest.Resource(rule.GroupVersionResource, others)
			if meant == "" {
				meant = nearest.Resource(rule.GroupVersionResource, allTypes())
			}
			consequence := "the controller starts as soon as it does"
			if i >= len(c.parents)+len(c.children)+len(c.watched) {
				consequence = "until then, the sync of a parent fails if its customize hook selects this type"
			}
			warnings = append(warnings, fmt.Sprintf("%s: the cluster does not serve %q in %s yet; %s%s",
				rule.path, rule.Resource, rule.GroupVersion(), consequence,
				w.host.hint(ctx, rule.GroupVersionResource, meant)))
		}
		if of.served && !of.hasStatus && i < len(c.parents) && !c.decorates {
			consequence := "so the cluster drops the status that hooks return"
			if !scheme.Scheme.IsGroupRegistered(rule.Group) { // it is not built into Kubernetes
				consequence = "so the controller does not run until its CustomResourceDefinition has one: add subresources: " +
					"{status: {}} to the version"
			}
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s has no status subresource, %s", rule.path, rule.Resource,
				rule.GroupVersion(), consequence))
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
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s is cluster-scoped, and spec.namespaces limits the "+
				"controller to objects in namespaces, "+
				"so the controller does not run: remove spec.namespaces, or this type",
				rule.path, rule.Resource, rule.GroupVersion()))
		}
	}
	return warnings
}

// childless returns warnings about rules that can never have a child.
func childless(c *controller, known map[schema.GroupVersionResource]typeInfo) (warnings []string) {
	if len(c.parents) == 0 || slices.ContainsFunc(c.parents,
		func(parent typeRule) bool { return !known[parent.GroupVersionResource].namespaced }) {
		return nil
	}
	for _, rule := range c.children {
		if of := known[rule.GroupVersionResource]; of.served && !of.namespaced {
			warnings = append(warnings, fmt.Sprintf("%s: %q in %s is cluster-scoped, and the parents are namespaced: this "+
				"rule never has children, because a namespaced parent cannot own a cluster-scoped object",
				rule.path, rule.Resource, rule.GroupVersion()))
		}
	}
	return warnings
}

// releasedParents returns warnings about what happens to parents that a change of a spec may release.
func releasedParents(stored, updated *controller) (warnings []string) {
	for _, before := range stored.parents {
		isSame := func(after typeRule) bool { return after.GroupResource() == before.GroupResource() }
		isCovered := func(after typeRule) bool {
			return isSame(after) && (isAll(&after) || apiequality.Semantic.DeepEqual(before.selector, after.selector) &&
				apiequality.Semantic.DeepEqual(before.annotations, after.annotations))
		}
		if slices.ContainsFunc(updated.parents, isCovered) {
			continue
		}
		path, isKept := "spec.resources", slices.ContainsFunc(updated.parents, isSame)
		if !stored.decorates {
			path = "spec.parentResource"
			if isKept {
				path += ".labelSelector"
			}
		}
		becomes := "it stops syncing them, and their children stay as they are"
		switch {
		case updated.finalizes && isKept:
			becomes = "it calls their finalize hook"
		case stored.finalizes:
			becomes = "it removes their finalizer without calling the finalize hook, and their children stay as they are"
		}
		warnings = append(warnings, fmt.Sprintf("%s: the controller releases parents (%s) that no longer match: %s",
			path, before.GroupResource(), becomes))
	}
	if stored.finalizes && !updated.finalizes {
		warnings = append(warnings, "spec.hooks.finalize: parents lose their finalizer, so the server calls no hook when "+
			"they are deleted; set this field again to add the finalizer again")
	}
	return warnings
}

// isAll reports whether a rule selects all objects of its resource.
func isAll(rule *typeRule) bool {
	return len(requirements(rule.selector)) == 0 &&
		(rule.annotations == nil || len(rule.annotations.MatchAnnotations) == 0 &&
			len(rule.annotations.MatchExpressions) == 0)
}

// definition is the part of a CustomResourceDefinition that determines which fields the host keeps.
type definition struct {
	Spec struct {
		PreserveUnknownFields bool `json:"preserveUnknownFields"`
		Versions              []struct {
			Name   string `json:"name"`
			Schema struct {
				OpenAPIV3Schema *fieldSchema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// fieldSchema is the schema of a field.
type fieldSchema struct {
	Properties            map[string]*fieldSchema `json:"properties"`
	AdditionalProperties  json.RawMessage         `json:"additionalProperties"`
	Items                 *fieldSchema            `json:"items"`
	PreserveUnknownFields *bool                   `json:"x-kubernetes-preserve-unknown-fields"`
}

// anyItem is the step of a path from a list to its items.
const anyItem = "[]"

// keeps reports whether the host stores the field at a path.
func (s *fieldSchema) keeps(path ...string) bool {
	if len(path) == 0 || s == nil {
		return true
	}
	if path[0] == anyItem {
		return s.Items.keeps(path[1:]...)
	}
	if next, known := s.Properties[path[0]]; known {
		return next.keeps(path[1:]...)
	}
	return s.PreserveUnknownFields != nil && *s.PreserveUnknownFields || len(s.AdditionalProperties) > 0 &&
		string(s.AdditionalProperties) != "false"
}

// lostFields returns a warning if the schema of the parents lacks fields that a CompositeController
// writes. It returns "" if no schema is known.
func (h Host) lostFields(ctx context.Context, c *controller) string {
	if c.decorates || len(c.parents) == 0 {
		return ""
	}
	parents := c.parents[0]
	body, err := h.Definitions.Get(ctx, parents.GroupResource().String())
	if err != nil {
		if !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).V(2).Info("Failed to read the schema of parents", "resource", parents.GroupResource(), "err",
				err)
		}
		return ""
	}
	var read definition
	if err := json.Unmarshal(body, &read); err != nil || read.Spec.PreserveUnknownFields {
		return ""
	}
	for _, version := range read.Spec.Versions {
		if of := version.Schema.OpenAPIV3Schema; version.Name == parents.Version && of != nil {
			return warnOfLost(&parents, of, c.rolls)
		}
	}
	return ""
}

// warnOfLost returns the warning about the fields that a schema lacks, or "" if it lacks none.
func warnOfLost(parents *typeRule, of *fieldSchema, rolls bool) string {
	text := fmt.Sprintf("%s: the schema of %q in %s has no ", parents.path, parents.Resource, parents.GroupVersion())
	if !of.keeps("status") {
		return text + "status, so the cluster drops the status that hooks return, and status.observedGeneration"
	}
	var lost []string
	if !of.keeps("status", "observedGeneration") {
		lost = append(lost, "status.observedGeneration")
	}
	if rolls && !of.keeps("status", "conditions") {
		lost = append(lost, "status.conditions, which has the condition Updated")
	} else if rolls {
		for _, name := range []string{"type", "status", "reason", "message", "lastTransitionTime"} {
			if !of.keeps("status", "conditions", anyItem, name) {
				lost = append(lost, "status.conditions[]."+name)
			}
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return text + strings.Join(lost, " and no ") + ": the controller writes this, and the cluster drops it"
}

// HookResolver resolves the host names of hooks as they are resolved when hooks are called.
type HookResolver struct {
	// Lookup returns the addresses of a name, as net.Resolver.LookupNetIP does.
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
	// Proxy returns the proxy of a request, or nil if there is none, as http.Transport.Proxy does.
	// Proxies resolve names themselves.
	Proxy func(*http.Request) (*url.URL, error)
	// Denied holds the networks that hooks are not called in.
	Denied hookaddress.Denied
}

// warnings returns warnings about hooks whose host has no address, or only denied ones. Each name
// is looked up once.
func (r HookResolver) warnings(ctx context.Context, c *controller) (warnings []string) {
	problems := make([]string, len(c.hooks))
	lookUp := map[string]func() string{}
	var group sync.WaitGroup
	for i, hook := range c.hooks {
		name := hook.webhook.Address().DialedHost()
		if !hook.called || name == "" || isAddress(name) || r.hasProxy(hook.address()) {
			continue
		}
		if lookUp[name] == nil {
			lookUp[name] = sync.OnceValue(func() string { return r.problem(ctx, name) })
		}
		once := lookUp[name]
		group.Go(func() { problems[i] = once() })
	}
	group.Wait()
	for i, text := range problems {
		if text != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s", c.hooks[i].addressPath(), text))
		}
	}
	return warnings
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (r HookResolver) hasProxy(address string) bool {
	target, err := url.Parse(address)
	if err != nil {
		return false
	}
	proxy, err := r.Proxy(&http.Request{URL: target})
	return proxy != nil || err != nil
}

// problem returns why hooks cannot be called at a name. It returns "" if they can be, or if that is
// not known.
func (r HookResolver) problem(ctx context.Context, name string) string {
	addresses, err := r.Lookup(ctx, "ip", name)
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		return fmt.Sprintf("the server cannot resolve the host %q, so it cannot call the hook: check the spelling, or "+
			"create its Service or DNS name",
			name)
	}
	for _, address := range addresses {
		if err := r.Denied.Check(address); err == nil {
			return ""
		}
	}
	if err == nil && len(addresses) > 0 {
		return fmt.Sprintf("the host %q resolves to %s, and %s", name, addresses[0].Unmap(), r.Denied.Check(addresses[0]))
	}
	return ""
}
