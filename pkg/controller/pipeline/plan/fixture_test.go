// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var (
	webs        = typeOf("ctl.example", "v1", "webs", "Web", true)
	fleets      = typeOf("ctl.example", "v1", "fleets", "Fleet", false)
	configMaps  = typeOf("", "v1", "configmaps", "ConfigMap", true)
	pods        = typeOf("", "v1", "pods", "Pod", true)
	deployments = typeOf("apps", "v1", "deployments", "Deployment", true)
	namespaces  = typeOf("", "v1", "namespaces", "Namespace", false)
)

func typeOf(group, version, resource, kind string, namespaced bool) object.Type {
	return object.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: resource},
		Kind:                 kind, Namespaced: namespaced,
	}
}

const (
	web   = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid, generation: 3, resourceVersion: "5"}, spec: {}, status: {observedGeneration: 3}}`
	fleet = `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: parent-uid, generation: 3, resourceVersion: "5"}, spec: {}, status: {observedGeneration: 3}}`
)

// parseYAML makes an object of a text in YAML.
func parseYAML(t testing.TB, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parseJSON(t, raw)
}

func parseJSON(t testing.TB, raw []byte) *object.Object {
	t.Helper()
	parsed, err := object.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return parsed
}

// world is a host with one parent and its children. The parent's
// children are those with the label app: shop.
type world struct {
	t          testing.TB
	parentType object.Type
	parent     *object.Object
	generate   bool
	// decorates makes the parent the target of a decorator, and the children attachments.
	decorates bool
	// finalizes is true if the parent, which has ourFinalizer, is being finalized.
	finalizes  bool
	strategies Strategies
	upToDate   UpToDateCache
	children   map[object.Type][]*object.Object
	// related are what the customize hook has asked for.
	related []*object.Object
	// schemas are how the host describes the types.
	schemas map[object.Type]*openapi.Type
	// schemasVersion changes when the host describes a type in another way.
	schemasVersion uint64
	// defaults is what the API server adds to an object that is written.
	defaults func(map[string]any)
	version  int
	// managed records who owns which field of an object.
	managed map[types.UID]managedfieldstest.TestFieldManager
}

// newWorld makes a world that has child types and no children.
func newWorld(t testing.TB, parent string, childTypes ...object.Type) *world {
	w := &world{
		t: t, parentType: webs, parent: parseYAML(t, parent), strategies: Strategies{},
		children: map[object.Type][]*object.Object{}, schemas: map[object.Type]*openapi.Type{},
		defaults: func(map[string]any) {}, version: 100, managed: map[types.UID]managedfieldstest.TestFieldManager{},
	}
	if w.parent.Kind == "Fleet" {
		w.parentType = fleets
	}
	for _, of := range childTypes {
		w.children[of] = nil
	}
	return w
}

// method sets the update method of all child types.
func (w *world) method(method Method) *world {
	for of := range w.children {
		w.strategies[of.GroupKind()] = Strategy{Method: method}
	}
	return w
}

// has puts children there that the parent controls and that were last applied as
// they are.
func (w *world) has(of object.Type, children ...string) *world {
	for _, text := range children {
		w.children[of] = append(w.children[of], w.applied(of, text, text))
	}
	return w
}

// hasAsIs puts a child there as the text says.
func (w *world) hasAsIs(of object.Type, text string) *world {
	w.children[of] = append(w.children[of], parseYAML(w.t, text))
	return w
}

// applied is a child that was last applied as last, and that others have made what is
// observed.
func (w *world) applied(of object.Type, observed, last string) *object.Object {
	w.t.Helper()
	child := unstructured.Unstructured{Object: decode(w.t, parseYAML(w.t, observed))}
	applied := unstructured.Unstructured{Object: decode(w.t, parseYAML(w.t, last))}
	if of.Namespaced && w.parent.Namespace != "" {
		child.SetNamespace(w.parent.Namespace)
		applied.SetNamespace(w.parent.Namespace)
	}
	if w.generate {
		child.SetLabels(labels.Merge(w.generated(), child.GetLabels()))
		applied.SetLabels(labels.Merge(w.generated(), applied.GetLabels()))
	}
	record := labels.Set{object.LastAppliedAnnotation: canonical(w.t, applied.Object)}
	for _, written := range []unstructured.Unstructured{child, applied} {
		written.SetAnnotations(labels.Merge(written.GetAnnotations(), record))
		written.SetOwnerReferences(append(written.GetOwnerReferences(), w.owner()))
	}
	uid := types.UID("uid-of-" + child.GetName())
	w.stored(applied.Object, uid)
	return w.storedBy("others", child.Object, uid)
}

func (w *world) generated() labels.Set { return labels.Set{"controller-uid": string(w.parent.UID)} }

func (w *world) owner() metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: "ctl.example/v1", Kind: w.parent.Kind, Name: w.parent.Name, UID: w.parent.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// stored is an object as the API server stores it when we write it.
func (w *world) stored(content map[string]any, uid types.UID) *object.Object {
	w.t.Helper()
	return w.storedBy(object.FieldManager, content, uid)
}

// storedBy is an object as the API server stores it when a manager writes it.
func (w *world) storedBy(manager string, content map[string]any, uid types.UID) *object.Object {
	w.t.Helper()
	w.version++
	u := &unstructured.Unstructured{Object: content}
	u.SetUID(uid)
	u.SetResourceVersion(strconv.Itoa(w.version))
	u.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
	u.SetManagedFields(nil)
	w.defaults(u.Object)
	if w.managed[uid] == nil {
		w.managed[uid] = managedfieldstest.NewTestFieldManager(managedfields.NewDeducedTypeConverter(), u.GroupVersionKind())
	}
	if err := w.managed[uid].Update(u, manager); err != nil {
		w.t.Fatal(err)
	}
	u.SetManagedFields(w.managed[uid].ManagedFields())
	raw, err := json.Marshal(u.Object)
	if err != nil {
		w.t.Fatal(err)
	}
	return parseJSON(w.t, raw)
}

// snapshot is what observe sees of the world.
func (w *world) snapshot() *pipeline.Snapshot {
	snapshot := &pipeline.Snapshot{
		Managed:    w.parent.DeletionTimestamp == nil,
		ParentType: w.parentType, ParentSchema: w.schemas[w.parentType], SchemasVersion: w.schemasVersion, Parent: w.parent,
		Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}),
	}
	if len(w.related) > 0 {
		snapshot.Related = []pipeline.Related{{Objects: w.related}}
	}
	if w.generate {
		snapshot.GeneratedLabels = w.generated()
		snapshot.Selector = labels.SelectorFromSet(w.generated())
	}
	if w.finalizes {
		snapshot.Managed, snapshot.Finalizing = true, true
		snapshot.Finalizer, snapshot.NeedsFinalizer = ourFinalizer, true
	}
	if w.decorates {
		return w.ofTarget(snapshot)
	}
	for of, children := range w.children {
		group := pipeline.Group{Type: of, Schema: w.schemas[of]}
		for _, child := range children {
			controller := metav1.GetControllerOfNoCopy(child)
			matches := snapshot.Selector.Matches(labels.Set(child.Labels))
			switch {
			case controller != nil && controller.UID != w.parent.UID:
			case matches && controller == nil && child.DeletionTimestamp == nil && w.parent.DeletionTimestamp == nil:
				group.Adopt = append(group.Adopt, child)
				if of.GroupKind() == w.parentType.GroupKind() {
					group.Kept = append(group.Kept, child)
				} else {
					group.Claimed = append(group.Claimed, child)
				}
			case matches && controller != nil:
				group.Claimed = append(group.Claimed, child)
				if controller.APIVersion != w.parentType.GroupVersion().String() {
					group.Adopt = append(group.Adopt, child)
				}
			case controller != nil && w.parent.DeletionTimestamp == nil:
				group.Release = append(group.Release, child)
			}
		}
		snapshot.Children = append(snapshot.Children, group)
	}
	// observe keeps the order of the rules, which says nothing.
	slices.SortFunc(snapshot.Children, func(a, b pipeline.Group) int { return -cmp.Compare(a.Type.String(), b.Type.String()) })
	return snapshot
}

// answer is a hook's answer with children in YAML and a status that changes nothing.
func (w *world) answer(children ...string) *pipeline.Response {
	response := &pipeline.Response{SaysChildren: true}
	for _, text := range children {
		response.Children = append(response.Children, parseYAML(w.t, text))
	}
	return response
}

func (w *world) plan(response *pipeline.Response) *pipeline.Plan {
	w.t.Helper()
	of := Composite
	if w.decorates {
		of = Decorator
	}
	planned, err := of(w.snapshot(), response, w.strategies, &w.upToDate)
	if err != nil {
		w.t.Fatalf("plan: %v", err)
	}
	return planned
}

// carryOut does to the world what the plan says, as act and the API server would.
func (w *world) carryOut(planned *pipeline.Plan) {
	w.t.Helper()
	w.upToDate.Prune(w.snapshot())
	var outcomes []pipeline.Outcome
	for _, step := range planned.Steps {
		outcome := pipeline.Outcome{Step: step}
		switch step.Op {
		case pipeline.Create:
			content := w.content(step.Body)
			outcome.Result = w.stored(content, types.UID(fmt.Sprintf("uid-%d", w.version)))
			w.children[step.Type] = append(w.children[step.Type], outcome.Result)
		case pipeline.Update:
			outcome.Result = w.stored(w.content(step.Body), step.Observed.UID)
			w.replace(step, outcome.Result)
		case pipeline.ToDynamicApply:
			content := decode(w.t, step.Observed)
			if err := setAnnotation(content, object.LastAppliedAnnotation, string(step.Body)); err != nil {
				w.t.Fatal(err)
			}
			outcome.Result = w.stored(content, step.Observed.UID)
			w.replace(step, outcome.Result)
		case pipeline.Delete, pipeline.Recreate:
			w.replace(step, nil)
		case pipeline.Status, pipeline.Metadata, pipeline.Finalizer:
			outcome.Result = w.stored(w.ofParent(step), step.Observed.UID)
			w.parent = outcome.Result
		case pipeline.Adopt, pipeline.Release:
			content := decode(w.t, step.Observed)
			patch, metadata := w.content(step.Body)["metadata"].(map[string]any), content["metadata"].(map[string]any)
			metadata["ownerReferences"] = patch["ownerReferences"]
			removed, _, _ := unstructured.NestedMap(patch, "annotations")
			for name := range removed {
				unstructured.RemoveNestedField(metadata, "annotations", name)
			}
			outcome.Result = w.stored(content, step.Observed.UID)
			w.replace(step, outcome.Result)
		}
		outcomes = append(outcomes, outcome)
	}
	w.upToDate.Wrote(outcomes)
}

// ofParent is what a write of the parent makes of it.
func (w *world) ofParent(step pipeline.Step) map[string]any {
	content := w.content(step.Body)
	if !w.parentType.StatusSubresource {
		return content
	}
	live := decode(w.t, w.parent)
	if step.Op == pipeline.Status {
		live["status"] = content["status"]
		return live
	}
	restoreFields(content, live, "status")
	return content
}

func (w *world) replace(step pipeline.Step, by *object.Object) {
	i := slices.Index(w.children[step.Type], step.Observed)
	if i < 0 {
		w.t.Fatalf("%s of %s: it is not there", step.Op, step.Observed)
	}
	if by == nil {
		w.children[step.Type] = slices.Delete(w.children[step.Type], i, i+1)
	} else {
		w.children[step.Type][i] = by
	}
}

func (w *world) content(body []byte) map[string]any {
	w.t.Helper()
	var content map[string]any
	if err := utiljson.Unmarshal(body, &content); err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	return content
}

// child is the child of that name, nil if it is not there.
func (w *world) child(of object.Type, name string) *object.Object {
	i := slices.IndexFunc(w.children[of], func(child *object.Object) bool { return child.Name == name })
	if i < 0 {
		return nil
	}
	return w.children[of][i]
}

func decode(t testing.TB, o *object.Object) map[string]any {
	t.Helper()
	content, err := o.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func canonical(t testing.TB, content map[string]any) string {
	t.Helper()
	text, err := object.Canonical(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// steps are the steps of a plan in words, "create ConfigMap default/a".
func steps(planned *pipeline.Plan) []string {
	var words []string
	for _, step := range planned.Steps {
		name := types.NamespacedName{Namespace: step.Namespace, Name: step.Name}.String()
		if step.Namespace == "" {
			name = step.Name
		}
		words = append(words, fmt.Sprintf("%s %s %s", step.Op, step.Type.Kind, name))
	}
	return words
}

// writes are the steps that change the host.
func writes(planned *pipeline.Plan) []string {
	kept := &pipeline.Plan{}
	for _, step := range planned.Steps {
		if step.Op.Writes() {
			kept.Steps = append(kept.Steps, step)
		}
	}
	return steps(kept)
}

func refusals(planned *pipeline.Plan) []string {
	var words []string
	for _, err := range planned.Refused {
		words = append(words, err.Error())
	}
	return words
}

// stepFor is the one step of a plan for the object of that name.
func stepFor(t testing.TB, planned *pipeline.Plan, name string) pipeline.Step {
	t.Helper()
	var found []pipeline.Step
	for _, step := range planned.Steps {
		if step.Name == name {
			found = append(found, step)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d steps for %s in %v, refused %v", len(found), name, steps(planned), planned.Refused)
	}
	return found[0]
}

const (
	decoratorAnnotation = "metacontroller.k8s.io/decorator-controller"
	ourFinalizer        = "metacontroller.io/decoratorcontroller-deco"
)

// newTarget makes a world whose parent is the target of a decorator.
func newTarget(t testing.TB, target string, attachments ...object.Type) *world {
	w := newWorld(t, target, attachments...)
	w.decorates = true
	return w
}

// withSubresource makes the status of the target one that is written by itself.
func (w *world) withSubresource(has bool) *world {
	w.parentType.StatusSubresource = has
	return w
}

// ofTarget is what observe sees of a target: it is finalized when it has the decorator's
// finalizer and is being deleted or says that it opts out.
func (w *world) ofTarget(snapshot *pipeline.Snapshot) *pipeline.Snapshot {
	deleting := w.parent.DeletionTimestamp != nil
	held := slices.Contains(w.parent.Finalizers, ourFinalizer)
	snapshot.Selector = nil
	snapshot.GeneratedAnnotations = map[string]string{decoratorAnnotation: "deco"}
	snapshot.Finalizer, snapshot.NeedsFinalizer = ourFinalizer, held
	snapshot.Finalizing = held && (deleting || w.parent.Labels["out"] != "")
	snapshot.Managed = !deleting || held
	for of, children := range w.children {
		group := pipeline.Group{Type: of, Schema: w.schemas[of]}
		for _, child := range children {
			controller := metav1.GetControllerOfNoCopy(child)
			if controller != nil && controller.UID == w.parent.UID && child.Annotations[decoratorAnnotation] == "deco" {
				group.Claimed = append(group.Claimed, child)
				if controller.APIVersion != w.parentType.GroupVersion().String() {
					group.Adopt = append(group.Adopt, child)
				}
			}
		}
		snapshot.Children = append(snapshot.Children, group)
	}
	slices.SortFunc(snapshot.Children, func(a, b pipeline.Group) int { return -cmp.Compare(a.Type.String(), b.Type.String()) })
	return snapshot
}

// changes are labels or annotations in a hook's answer, in turns a key and a value; the
// value - takes the key away.
func changes(keysAndValues ...string) map[string]*string {
	made := map[string]*string{}
	for pair := range slices.Chunk(keysAndValues, 2) {
		made[pair[0]] = nil
		if pair[1] != "-" {
			made[pair[0]] = ptr.To(pair[1])
		}
	}
	return made
}
