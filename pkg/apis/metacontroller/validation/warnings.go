// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// warnings collects likely mistakes, each with its field.
type warnings []string

func (w *warnings) add(path *field.Path, format string, args ...any) {
	*w = append(*w, path.String()+": "+fmt.Sprintf(format, args...))
}

// CompositeControllerWarnings returns warnings for the author of a CompositeController about likely
// mistakes in it.
func CompositeControllerWarnings(controller *v1alpha1.CompositeController) []string {
	var w warnings
	spec, path := &controller.Spec, field.NewPath("spec")
	w.paused(controller.Annotations)
	w.parentResource(spec, path.Child("parentResource"))
	w.childResources(spec, path.Child("childResources"))
	if hooks, path := spec.Hooks, path.Child("hooks"); hooks != nil {
		w.hooks(hooks.Sync, hooks.Finalize, hooks.Customize, path)
		if hooks.PreUpdateChild != nil {
			w.add(path.Child("preUpdateChild"), "has no effect: the server never calls this hook")
		}
		if hooks.PostUpdateChild != nil {
			w.add(path.Child("postUpdateChild"), "has no effect: the server never calls this hook")
		}
	}
	w.endpointConfigs(spec.EndpointConfigs, compositeControllerHooks(spec.Hooks), path.Child("endpointConfigs"))
	w.resyncPeriod(spec.ResyncPeriodSeconds, path.Child("resyncPeriodSeconds"))
	return w
}

// DecoratorControllerWarnings returns warnings for the author of a DecoratorController about likely
// mistakes in it.
func DecoratorControllerWarnings(controller *v1alpha1.DecoratorController) []string {
	var w warnings
	spec, path := &controller.Spec, field.NewPath("spec")
	w.paused(controller.Annotations)
	w.targets(spec, path.Child("resources"))
	w.attachments(spec, path.Child("attachments"))
	if hooks := spec.Hooks; hooks != nil {
		w.hooks(hooks.Sync, hooks.Finalize, hooks.Customize, path.Child("hooks"))
	}
	w.endpointConfigs(spec.EndpointConfigs, decoratorControllerHooks(spec.Hooks), path.Child("endpointConfigs"))
	w.resyncPeriod(spec.ResyncPeriodSeconds, path.Child("resyncPeriodSeconds"))
	return w
}

func (w *warnings) resyncPeriod(seconds *int32, path *field.Path) {
	if seconds != nil && *seconds < 1 {
		w.add(path, "is below 1, so the server uses 1")
	}
}

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
			return `a path consists of names separated by dots, such as "spec.template"`
		case strings.ContainsAny(name, "[]*"):
			return "a path cannot contain items of a list; use the list as a whole"
		case strings.ContainsRune("/$", rune(name[0])) || strings.Contains(name, "{") || name != strings.TrimSpace(name):
			return `a path consists of names separated by dots, such as "spec.template"`
		}
	}
	if len(names) > 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations") {
		return "a path cannot contain a name with a dot; use " + names[0] + "." + names[1] + " as a whole"
	}
	return ""
}

// paused warns of the annotation that pauses a parent.
func (w *warnings) paused(annotations map[string]string) {
	if _, found := annotations[v1alpha1.PausedAnnotation]; found {
		w.add(field.NewPath("metadata", "annotations").Key(v1alpha1.PausedAnnotation),
			"pauses parents and has no effect on a controller: set spec.paused")
	}
}

func (w *warnings) childResources(spec *v1alpha1.CompositeControllerSpec, path *field.Path) {
	seen := map[schema.GroupResource]int{}
	for i := range spec.ChildResources {
		child, path := &spec.ChildResources[i], path.Index(i)
		w.repeated(seen, child.ResourceRule, i, path)
		if child.GroupResource() == spec.ParentResource.GroupResource() {
			w.add(path, "is the parent type, so each child is also a parent, and gets children of its own")
		}
		w.updateStrategy(child.UpdateStrategy, path.Child("updateStrategy"))
	}
	w.madeByOthers(spec, path)
}

// noRolling is the warning about settings that only rolling updates use.
const noRolling = "has no effect: only rolling methods use it"

func (w *warnings) updateStrategy(strategy *v1alpha1.CompositeControllerChildUpdateStrategy, path *field.Path) {
	w.noMethod(strategy.GetMethod(), path)
	if strategy == nil {
		return
	}
	checks := strategy.StatusChecks
	hasChecks := checks != nil && len(checks.Conditions) > 0
	switch path := path.Child("statusChecks"); {
	case strategy.Rolls() && !hasChecks:
		w.add(path, "is empty: a rollout continues when the controller of a child has completed the change; after a "+
			"change of a Pod or of an object without status, it continues immediately, even if the object does not work")
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
				`is %q, which is not a status of a condition, so a rollout waits forever; write "True", "False" or "Unknown", `+
					`in quotes`, *status)
		}
	}
}

// noMethod warns of an update method that is not set.
func (w *warnings) noMethod(method v1alpha1.ChildUpdateMethod, path *field.Path) {
	if method == "" {
		w.add(path.Child("method"),
			"is not set, so the server never changes existing objects of this type; see InPlace and Recreate")
	}
}

func (w *warnings) targets(spec *v1alpha1.DecoratorControllerSpec, path *field.Path) {
	if len(spec.Resources) == 0 {
		w.add(path, "is empty, so the controller decorates nothing")
	}
	first := map[schema.GroupResource]int{}
	for i, target := range spec.Resources {
		known, found := first[target.GroupResource()]
		switch {
		case !found:
			first[target.GroupResource()] = i
		case spec.Resources[known].APIVersion != target.APIVersion:
			w.add(path.Index(i), "is for the type of item %d in another version: hooks get objects "+
				"in the version of that item", known)
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
			w.add(path, "is the type of spec.resources[%d]: attachments are also targets, and get attachments of their own",
				target)
		}
		method := attachment.UpdateStrategy.GetMethod()
		w.noMethod(method, path.Child("updateStrategy"))
		if method.Rolls() {
			plain := strings.TrimPrefix(string(method), "Rolling")
			w.add(path.Child("updateStrategy", "method"), "%q acts as %s, because a DecoratorController has no rollouts: "+
				"write %s (the attachments are the same)", method, plain, plain)
		}
	}
}

// repeated warns of a rule for the same type as an earlier rule. It adds the type to seen.
func (w *warnings) repeated(
	seen map[schema.GroupResource]int, rule v1alpha1.ResourceRule, index int, path *field.Path,
) {
	if first, found := seen[rule.GroupResource()]; found {
		w.add(path, "is for the same type as item %d of the list; use one item for each type", first)
		return
	}
	seen[rule.GroupResource()] = index
}

func rollsAny(children []v1alpha1.CompositeControllerChildResourceRule) bool {
	return slices.ContainsFunc(children, func(child v1alpha1.CompositeControllerChildResourceRule) bool {
		return child.UpdateStrategy.Rolls()
	})
}

// maker is a type for whose objects Kubernetes makes objects of other types.
type maker struct {
	of   schema.GroupResource
	made []schema.GroupResource
	// copies is true if the created objects get the labels of the object itself, not the labels in its template.
	copies bool
}

// makers returns the types of Kubernetes whose objects lead to others with the same labels.
func makers() []maker {
	core := func(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }
	apps := func(resource string) schema.GroupResource {
		return schema.GroupResource{Group: "apps", Resource: resource}
	}
	batch := func(resource string) schema.GroupResource {
		return schema.GroupResource{Group: "batch", Resource: resource}
	}
	pods, revisions := core("pods"), apps("controllerrevisions")
	endpointSlices := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	return []maker{
		{of: core("services"), made: []schema.GroupResource{core("endpoints"), endpointSlices}, copies: true},
		{of: core("endpoints"), made: []schema.GroupResource{endpointSlices}, copies: true},
		{of: apps("statefulsets"), made: []schema.GroupResource{pods, core("persistentvolumeclaims"), revisions}},
		{of: apps("deployments"), made: []schema.GroupResource{apps("replicasets"), pods}},
		{of: apps("daemonsets"), made: []schema.GroupResource{pods, revisions}},
		{of: apps("replicasets"), made: []schema.GroupResource{pods}},
		{of: core("replicationcontrollers"), made: []schema.GroupResource{pods}},
		{of: batch("jobs"), made: []schema.GroupResource{pods}},
		{of: batch("cronjobs"), made: []schema.GroupResource{batch("jobs"), pods}},
	}
}

// madeByOthers warns of child types whose objects Kubernetes creates for children of another type, or for the parents.
// A generated selector does not match labels of a template.
func (w *warnings) madeByOthers(spec *v1alpha1.CompositeControllerSpec, path *field.Path) {
	for _, maker := range makers() {
		by := ""
		if spec.ParentResource.GroupResource() == maker.of {
			by = "the parents"
		}
		for i := range spec.ChildResources {
			if spec.ChildResources[i].GroupResource() == maker.of {
				by = path.Index(i).String()
			}
		}
		if by == "" || ptr.Deref(spec.GenerateSelector, false) && !maker.copies {
			continue
		}
		for i := range spec.ChildResources {
			if of := spec.ChildResources[i].GroupResource(); slices.Contains(maker.made, of) {
				w.add(path.Index(i), "is a type of objects that Kubernetes creates for the %s of %s, with the same labels: a "+
					"parent adopts the objects that its selector matches; remove the type unless the hook returns objects of "+
					"this type",
					maker.of.Resource, by)
			}
		}
	}
}
