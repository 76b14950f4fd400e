// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights defines a right in the cluster, asks the cluster which rights a user has, and writes missing rights as
// rules for a Role.
package rights

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Object is the object of a right: one object if Name is set, else all objects of a resource.
type Object struct {
	schema.GroupResource
	Subresource string
	// Namespace is empty for all namespaces, and for cluster-scoped objects.
	Namespace, Name string
}

// Right is the right to do something with objects of the cluster.
type Right struct {
	Object
	Verb string
}

// Required is a required right, with the reason.
type Required struct {
	Right
	// For names what requires the right, such as a field of a spec.
	For string
}

// ObjectsOf returns the objects of a resource in these namespaces; in the entire cluster if there are none, or if the
// resource is cluster-scoped.
func ObjectsOf(resource schema.GroupResource, namespaced bool, namespaces []string) []Object {
	if !namespaced || len(namespaces) == 0 {
		namespaces = []string{""}
	}
	all := make([]Object, len(namespaces))
	for i, namespace := range namespaces {
		all[i] = Object{GroupResource: resource, Namespace: namespace}
	}
	return all
}

// To returns the rights to do something with objects. reason names their origin, such as a field of a spec.
func To(of Object, reason string, verbs ...string) []Required {
	required := make([]Required, len(verbs))
	for i, verb := range verbs {
		required[i] = Required{Right{of, verb}, reason}
	}
	return required
}

// ToRead returns the rights to read objects, and to see their changes.
func ToRead(of Object, reason string) []Required { return To(of, reason, "get", "list", "watch") }

// ToReadReference returns the right to read the object that a field refers to, such as a Secret. A reference without a
// name or a namespace can refer to nothing.
func ToReadReference(of Object, reason string) []Required {
	if of.Name == "" || of.Namespace == "" {
		return nil
	}
	return To(of, reason, "get")
}

// Rules returns missing rights as the rules of a ClusterRole and of a Role for each namespace, to
// paste. Each line ends with a newline.
func Rules(missing []Required) string {
	var text strings.Builder
	for _, namespace := range namespaces(missing) {
		where := "in a ClusterRole"
		if namespace != "" {
			where = fmt.Sprintf("in a Role of namespace %q", namespace)
		}
		fmt.Fprintf(&text, "# missing permissions %s:\nrules:\n", where)
		for _, rule := range rulesOf(missing, namespace) {
			rule.write(&text)
		}
	}
	return text.String()
}

// namespaces returns the namespaces of required rights, first "" for the entire cluster.
func namespaces(required []Required) []string {
	all := sets.New[string]()
	for _, req := range required {
		all.Insert(req.Namespace)
	}
	return sets.List(all)
}

// rule is a rule of a Role.
type rule struct {
	group     string
	resources []string
	names     []string
	verbs     []string
	// reasons name what needs the rule, such as fields of a spec.
	reasons []string
}

// rulesOf merges the required rights in one namespace into few rules: first the verbs of an object,
// then the names of a resource, and the resources of a group, that require the same verbs.
func rulesOf(required []Required, namespace string) []rule {
	var rules []rule
	of := map[Object]int{}
	for _, req := range required {
		if req.Namespace != namespace {
			continue
		}
		i, ok := of[req.Object]
		if !ok {
			i = len(rules)
			of[req.Object] = i
			rules = append(rules, rule{group: req.Group, resources: []string{nameOf(req.Object)}})
			if req.Name != "" {
				rules[i].names = []string{req.Name}
			}
		}
		rules[i].verbs = with(rules[i].verbs, req.Verb)
		rules[i].reasons = with(rules[i].reasons, req.For)
	}
	var merged []rule
	for _, next := range rules {
		i := slices.IndexFunc(merged, next.mergesInto)
		if i < 0 {
			merged = append(merged, next)
			continue
		}
		merged[i].resources = with(merged[i].resources, next.resources...)
		merged[i].names = with(merged[i].names, next.names...)
		merged[i].reasons = with(merged[i].reasons, next.reasons...)
	}
	return merged
}

func nameOf(of Object) string {
	if of.Subresource != "" {
		return of.Resource + "/" + of.Subresource
	}
	return of.Resource
}

// with appends the items that the list does not have yet.
func with(list []string, more ...string) []string {
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

func (r rule) mergesInto(other rule) bool {
	return r.group == other.group && slices.Equal(r.verbs, other.verbs) && (r.names == nil) == (other.names == nil) &&
		(r.names == nil || slices.Equal(r.resources, other.resources))
}

func (r rule) write(to *strings.Builder) {
	fmt.Fprintf(to, "- apiGroups: %s # for %s\n", list([]string{r.group}), strings.Join(r.reasons, ", "))
	fmt.Fprintf(to, "  resources: %s\n", list(r.resources))
	if r.names != nil {
		fmt.Fprintf(to, "  resourceNames: %s\n", list(r.names))
	}
	fmt.Fprintf(to, "  verbs: %s\n", list(r.verbs))
}

// list returns strings without special characters as a list in YAML's flow style.
func list(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = fmt.Sprintf("%q", item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Rule returns the right as a rule of a Role or ClusterRole in one line, to paste, and where it belongs.
func (r Right) Rule() string {
	where := "a ClusterRole"
	if r.Namespace != "" {
		where = fmt.Sprintf("a Role of namespace %q", r.Namespace)
	}
	return fmt.Sprintf("{apiGroups: %s, resources: %s, verbs: %s} in %s", list([]string{r.Group}),
		list([]string{nameOf(r.Object)}), list([]string{r.Verb}), where)
}
