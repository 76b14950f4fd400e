// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func (w *warnings) parentResource(spec *v1alpha1.CompositeControllerSpec, path *field.Path) {
	history := spec.ParentResource.RevisionHistory
	if history == nil || len(history.FieldPaths) == 0 {
		return
	}
	path = path.Child("revisionHistory")
	if !rollsAny(spec.ChildResources) {
		w.add(path, "has no effect: no child type has a rolling method")
	}
	for i, text := range history.FieldPaths {
		if why := matchesNothing(text); why != "" {
			w.add(path.Child("fieldPaths").Index(i), "%q can match nothing: %s", text, why)
		}
	}
}

// matchesNothing returns why no field can be at a path. It returns "" if one can.
func matchesNothing(fieldPath string) string {
	names := strings.Split(fieldPath, ".")
	for _, name := range names {
		switch {
		case name == "":
			return `it is names with a dot between each two, such as "spec.template"`
		case strings.ContainsAny(name, "[]*"):
			return "it cannot lead into a list; name the list as a whole"
		case strings.ContainsRune("/$", rune(name[0])) || strings.Contains(name, "{") || name != strings.TrimSpace(name):
			return `it is names with a dot between each two, such as "spec.template"`
		}
	}
	if len(names) > 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations") {
		return "a name with a dot in it cannot be written; name " + names[0] + "." + names[1] + " as a whole"
	}
	return ""
}

func (w *warnings) childResources(spec *v1alpha1.CompositeControllerSpec, path *field.Path) {
	seen := map[schema.GroupResource]int{}
	for i := range spec.ChildResources {
		child, path := &spec.ChildResources[i], path.Index(i)
		w.repeated(seen, child.ResourceRule, i, path)
		if child.GroupResource() == spec.ParentResource.GroupResource() {
			w.add(path, "is the parent type: children are parents, too, and get children of their own")
		}
		w.updateStrategy(child.UpdateStrategy, path.Child("updateStrategy"))
	}
	w.madeByOthers(spec, path)
}

// noRolling is the warning about settings that only rolling updates use.
const noRolling = "has no effect: the method is none of RollingRecreate and RollingInPlace"

func (w *warnings) updateStrategy(strategy *v1alpha1.CompositeControllerChildUpdateStrategy, path *field.Path) {
	if strategy == nil {
		w.noMethod("", path)
		return
	}
	w.noMethod(strategy.Method, path)
	checks := strategy.StatusChecks
	hasChecks := checks != nil && len(checks.Conditions) > 0
	switch path := path.Child("statusChecks"); {
	case strategy.Rolls() && !hasChecks:
		w.add(path, "is empty: a rollout goes on when the own controller of a child has completed the change, "+
			"and at once after a Pod or an object without status, whether it works or not")
	case !strategy.Rolls() && hasChecks:
		w.add(path, noRolling)
	}
	if strategy.MaxUnavailable != nil && !strategy.Rolls() {
		w.add(path.Child("maxUnavailable"), noRolling)
	}
	if strategy.Partition != nil && !strategy.Rolls() {
		w.add(path.Child("partition"), noRolling)
	}
	if !hasChecks {
		return
	}
	for i, condition := range checks.Conditions {
		if status := condition.Status; status != nil && !sets.New("True", "False", "Unknown").Has(*status) {
			w.add(path.Child("statusChecks", "conditions").Index(i).Child("status"),
				`is %q, which no condition ever is, so that a rollout waits forever; write "True", "False" or "Unknown", in quotes`, *status)
		}
	}
}

// noMethod warns of an update method that is not set.
func (w *warnings) noMethod(method v1alpha1.ChildUpdateMethod, path *field.Path) {
	if method == "" {
		w.add(path.Child("method"), "is not set, so that existing objects of this type are never changed; see InPlace and Recreate")
	}
}

func (w *warnings) targets(spec *v1alpha1.DecoratorControllerSpec, path *field.Path) {
	if len(spec.Resources) == 0 {
		w.add(path, "is empty, so that nothing is decorated")
	}
	first := map[schema.GroupResource]int{}
	for i, target := range spec.Resources {
		known, found := first[target.GroupResource()]
		switch {
		case !found:
			first[target.GroupResource()] = i
		case spec.Resources[known].APIVersion != target.APIVersion:
			w.add(path.Index(i), "is for the type of item %d in another version: hooks are shown objects in the version of that item", known)
		}
	}
}

func (w *warnings) attachments(spec *v1alpha1.DecoratorControllerSpec, path *field.Path) {
	targets := map[schema.GroupResource]int{}
	for i := range slices.Backward(spec.Resources) {
		targets[spec.Resources[i].GroupResource()] = i
	}
	seen := map[schema.GroupResource]int{}
	for i := range spec.Attachments {
		attachment, path := &spec.Attachments[i], path.Index(i)
		w.repeated(seen, attachment.ResourceRule, i, path)
		if target, found := targets[attachment.GroupResource()]; found {
			w.add(path, "is the type of spec.resources[%d]: attachments are decorated, too, and get attachments of their own", target)
		}
		method := v1alpha1.ChildUpdateMethod("")
		if attachment.UpdateStrategy != nil {
			method = attachment.UpdateStrategy.Method
		}
		w.noMethod(method, path.Child("updateStrategy"))
		if method.Rolls() {
			plain := strings.TrimPrefix(string(method), "Rolling")
			w.add(path.Child("updateStrategy", "method"), "%q acts as %s, because a DecoratorController has no rollouts: write %s (the attachments are the same)", method, plain, plain)
		}
	}
}

// repeated warns of a rule for a type that an earlier rule is for. It adds the type to seen.
func (w *warnings) repeated(seen map[schema.GroupResource]int, rule v1alpha1.ResourceRule, index int, path *field.Path) {
	if first, found := seen[rule.GroupResource()]; found {
		w.add(path, "is for the same type as item %d of the list; have one item for each type", first)
		return
	}
	seen[rule.GroupResource()] = index
}

func rollsAny(children []v1alpha1.CompositeControllerChildResourceRule) bool {
	return slices.ContainsFunc(children, func(child v1alpha1.CompositeControllerChildResourceRule) bool {
		return child.UpdateStrategy.Rolls()
	})
}
