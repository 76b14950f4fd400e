// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
)

// refusal returns the error that names the rights an author lacks, as rules to paste into a Role.
func refusal(author user.Info, resource schema.GroupResource, missing []requiredRight, troubles sets.Set[string]) error {
	var text strings.Builder
	fmt.Fprintf(&text, "a controller may do only what its author may do, and user %q (groups=%q) lacks rights that it uses\n", author.GetName(), author.GetGroups())
	for _, namespace := range namespaces(missing) {
		where := "in a ClusterRole"
		if namespace != "" {
			where = fmt.Sprintf("in a Role of namespace %q", namespace)
		}
		fmt.Fprintf(&text, "# missing %s:\nrules:\n", where)
		for _, rule := range rulesOf(missing, namespace) {
			rule.write(&text)
		}
	}
	fmt.Fprintf(&text, "# The verb %s on %s makes up for all of them.", escalate, resource)
	if troubles.Len() > 0 {
		fmt.Fprintf(&text, "\n# The cluster could not evaluate everything: %s", strings.Join(sets.List(troubles), "; "))
	}
	return errors.New(text.String())
}

// namespaces returns the namespaces of required rights, first "" for the whole cluster.
func namespaces(required []requiredRight) []string {
	all := sets.New[string]()
	for _, req := range required {
		all.Insert(req.namespace)
	}
	return sets.List(all)
}

// rule is a rule of a Role.
type rule struct {
	group     string
	resources []string
	names     []string
	verbs     []string
	// paths are the fields of the spec that require it.
	paths []string
}

// rulesOf merges the required rights in one namespace into few rules: first the verbs of an object,
// then the names of a resource, and the resources of a group, that require the same verbs.
func rulesOf(required []requiredRight, namespace string) []rule {
	var rules []rule
	of := map[object]int{}
	for _, req := range required {
		if req.namespace != namespace {
			continue
		}
		i, ok := of[req.object]
		if !ok {
			i = len(rules)
			of[req.object] = i
			rules = append(rules, rule{group: req.Group, resources: []string{nameOf(req.object)}})
			if req.name != "" {
				rules[i].names = []string{req.name}
			}
		}
		rules[i].verbs = with(rules[i].verbs, req.verb)
		rules[i].paths = with(rules[i].paths, req.path)
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
		merged[i].paths = with(merged[i].paths, next.paths...)
	}
	return merged
}

func nameOf(of object) string {
	if of.subresource != "" {
		return of.Resource + "/" + of.subresource
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
	fmt.Fprintf(to, "- apiGroups: %s # for %s\n", list([]string{r.group}), strings.Join(r.paths, ", "))
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
