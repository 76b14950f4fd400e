// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

var (
	webs   = typeOf("ctl.example", "v1", "webs", "Web", true)
	fleets = typeOf("ctl.example", "v1", "fleets", "Fleet", false)
	pods   = typeOf("", "v1", "pods", "Pod", true)
	jobs   = typeOf("batch", "v1", "jobs", "Job", true)
	zones  = typeOf("ctl.example", "v1", "zones", "Zone", false)
	files  = typeOf("", "v1", "configmaps", "ConfigMap", true)
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func typeOf(group, version, resource, kind string, namespaced bool) object.Type {
	return object.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: resource},
		Kind:                 kind, Namespaced: namespaced,
	}
}

// world is a parent, its children and revisions, and its hook. The hook
// wants the children that the parent lists, each at the version that the parent names, and
// only the version is rolled out.
type world struct {
	t        testing.TB
	rules    Rules
	snapshot pipeline.Snapshot
	stored   []*v1alpha1.ControllerRevision
	cache    RevisionCache
	// hook answers about a parent.
	hook func(parent *object.Object) *pipeline.Response
	// created counts the revisions that were made.
	created int
}

// recreated is a kind whose children are deleted and made anew, and inPlace one whose
// children are updated. Both have to be Ready.
func recreated(of object.Type) Kind {
	return Kind{Type: of, Checks: []v1alpha1.StatusConditionCheck{{Type: "Ready", Status: ptr.To("True")}}}
}

func inPlace(of object.Type) Kind {
	kind := recreated(of)
	kind.InPlace = true
	return kind
}

// newWorld makes a world whose parent, Web default/shop, is at a version and lists children
// such as "Pod a".
func newWorld(t testing.TB, version string, listed ...string) *world {
	w := &world{t: t, rules: Rules{FieldPaths: []string{"spec.version"}, Kinds: []Kind{recreated(pods)}, Namespace: "server"}}
	w.snapshot = pipeline.Snapshot{
		ParentType: webs, Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}), Managed: true,
		Children: []pipeline.Group{{Type: pods}, {Type: jobs}, {Type: zones}, {Type: files}},
	}
	w.hook = w.listed
	w.parent(version, listed...)
	return w
}

func (w *world) parent(version string, listed ...string) {
	children, err := json.Marshal(listed)
	if err != nil {
		w.t.Fatal(err)
	}
	w.snapshot.Parent = parseJSON(w.t, fmt.Appendf(nil, `{"apiVersion":"ctl.example/v1","kind":"Web",
		"metadata":{"name":"shop","namespace":"default","uid":"parent-uid"},
		"spec":{"version":%q,"children":%s}}`, version, children))
}

func (w *world) setParent(text string) { w.snapshot.Parent = parse(w.t, text) }

// listed is what the hook answers.
func (w *world) listed(parent *object.Object) *pipeline.Response {
	var spec struct {
		Version  string
		Children []string
	}
	if err := json.Unmarshal(parent.Lookup("spec"), &spec); err != nil {
		w.t.Fatal(err)
	}
	response := &pipeline.Response{Status: []byte(`{}`)}
	for _, listed := range spec.Children {
		response.Children = append(response.Children, childOf(w.t, listed+" "+spec.Version))
	}
	return response
}

// has puts children there. Without a namespace they are in the parent's. Those with the trait orphaned are adopted.
func (w *world) has(children ...string) {
	for _, text := range children {
		seen := *childOf(w.t, text)
		i := slices.IndexFunc(w.snapshot.Children, func(group pipeline.Group) bool { return group.Type.Kind == seen.Kind })
		group := &w.snapshot.Children[i]
		if group.Type.Namespaced && seen.Namespace == "" {
			seen.Namespace = w.snapshot.Parent.Namespace
		}
		group.Claimed = append(group.Claimed, &seen)
		if strings.HasSuffix(text, " orphaned") {
			group.Adopt = append(group.Adopt, &seen)
		}
	}
}

// remembers stores a revision of a text such as "v1: Pod a, Pod b".
func (w *world) remembers(texts ...string) {
	for _, text := range texts {
		version, claims, _ := strings.Cut(text, ": ")
		patch := fmt.Appendf(nil, `{"spec":{"version":%q}}`, version)
		record := &v1alpha1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Name:      revisions.Name(w.snapshot.ParentType, "parent-uid", patch),
				Namespace: w.rules.NamespaceOf(w.snapshot.Parent), UID: "uid-of-the-revision", ResourceVersion: "7",
				Labels:          revisions.Labels(&w.snapshot),
				OwnerReferences: []metav1.OwnerReference{revisions.OwnerReference(&w.snapshot)},
				// A version that has a higher number is newer.
				CreationTimestamp: metav1.NewTime(noon.Add(time.Duration([]rune(version)[1]) * time.Minute)),
			},
		}
		revisions.Record(record, patch, w.rules.fieldPaths())
		if now, err := revisions.Patch(w.snapshot.Parent, w.rules.fieldPaths()); err == nil && bytes.Equal(now, patch) {
			record.Annotations[v1alpha1.CurrentRevisionAnnotation] = "true"
		}
		for claim := range strings.SplitSeq(claims, ", ") {
			kind, name, found := strings.Cut(claim, " ")
			if found {
				record.Children = append(record.Children, v1alpha1.ControllerRevisionChildren{
					APIGroup: typeNamed(w.t, kind).Group, Kind: kind, Names: []string{name},
				})
			}
		}
		w.stored = append(w.stored, record)
	}
}

// isUpToDate reports whether the version of the observed child is the desired one.
func isUpToDate(observed, desired *object.Object) (bool, error) {
	return string(observed.Lookup("spec", "version")) == string(desired.Lookup("spec", "version")), nil
}

func (w *world) open() *Rollout {
	w.t.Helper()
	opened, err := Open(&w.rules, &w.snapshot, records(w.stored), &w.cache)
	if err != nil {
		w.t.Fatal(err)
	}
	return opened
}

func records(stored []*v1alpha1.ControllerRevision) []*revisions.Stored {
	var records []*revisions.Stored
	for _, revision := range stored {
		records = append(records, revisions.NewStored(revision))
	}
	return records
}

// ask asks the hook about all revisions.
func (w *world) ask(opened *Rollout) []*pipeline.Response {
	var responses []*pipeline.Response
	for _, revision := range opened.Revisions {
		responses = append(responses, w.hook(revision.Parent))
	}
	return responses
}

func (w *world) decide() *Decision {
	w.t.Helper()
	opened := w.open()
	decision, err := opened.Decide(w.ask(opened), isUpToDate, noon)
	if err != nil {
		w.t.Fatal(err)
	}
	return decision
}

// write stores what a decision says.
func (w *world) write(writes []revisions.Write) {
	w.t.Helper()
	for _, write := range writes {
		i := slices.IndexFunc(w.stored, func(record *v1alpha1.ControllerRevision) bool { return record.Name == write.Revision.Name })
		switch {
		case write.Op == pipeline.Create && i < 0:
			w.created++
			write.Revision.CreationTimestamp = metav1.NewTime(noon.Add(time.Duration(w.created) * time.Hour))
			w.stored = append(w.stored, write.Revision)
		case write.Op == pipeline.Update && i >= 0:
			w.stored[i] = write.Revision
		case write.Op == pipeline.Delete && i >= 0:
			w.stored = slices.Delete(w.stored, i, i+1)
		default:
			w.t.Fatalf("%s of ControllerRevision %s is not possible", write.Op, write.Revision.Name)
		}
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error: %v", err)
	case want != "" && err == nil:
		t.Errorf("there is no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error is %q, want it to say %q", err, want)
	}
}

// situation is a world before a sync, and what the sync does. Texts are separated by commas,
// revisions by semicolons.
type situation struct {
	// kinds are the rolling kinds; none is Pods that are recreated.
	kinds []Kind
	// version and lists are what the parent says.
	version, lists string
	// has are the children and remembers the revisions before the sync.
	has, remembers string

	// condition is the condition of the decision.
	condition string
	// wants are the children in the response.
	wants string
	// remembered are the revisions afterwards.
	remembered string
}

func (s situation) check(t *testing.T) {
	t.Helper()
	w := newWorld(t, s.version, apart(s.lists, ", ")...)
	if s.kinds != nil {
		w.rules.Kinds = s.kinds
	}
	w.has(apart(s.has, ", ")...)
	w.remembers(apart(s.remembers, "; ")...)
	decision := w.decide()
	w.write(decision.Writes)
	if diff := cmp.Diff(s.condition, strings.TrimPrefix(conditionText(decision.Updated), "Updated ")); diff != "" {
		t.Errorf("condition differs (-want +got):\n%s", diff)
	}
	isHeldBack := func(message string) bool { return strings.Contains(message, "holds it back") }
	if advice := decision.Advice; advice != "" && isHeldBack(advice) != isHeldBack(s.condition) {
		t.Errorf("the advice is %s", advice)
	}
	if diff := cmp.Diff(apart(s.wants, ", "), wanted(decision.Response)); diff != "" {
		t.Errorf("children differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(apart(s.remembered, "; "), w.remembered()); diff != "" {
		t.Errorf("revisions differ (-want +got):\n%s", diff)
	}
}

func apart(text, separator string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, separator)
}

// nameOfV is the name of the revision of a version of the world's parent.
func nameOfV(version string) string {
	return revisions.Name(webs, "parent-uid", []byte(`{"spec":{"version":"`+version+`"}}`))
}

// childOf makes a child of a text such as "Pod a v1", with traits behind it: unready, silent
// (without conditions), deleting, lagging (its status is not about its spec).
func childOf(t testing.TB, text string) *object.Object {
	t.Helper()
	words := strings.Fields(text)
	of := typeNamed(t, words[0])
	namespace, name, found := strings.Cut(words[1], "/")
	if !found {
		namespace, name = "", words[1]
	}
	status, more := `"conditions":[{"type":"Ready","status":"True"}]`, ""
	for _, trait := range words[3:] {
		switch trait {
		case "unready":
			status = `"conditions":[{"type":"Ready","status":"False"}]`
		case "orphaned":
		case "silent":
			status = ""
		case "deleting":
			more += `,"deletionTimestamp":"2026-03-04T05:06:07Z"`
		case "lagging":
			more += `,"generation":3`
			status += `,"observedGeneration":2`
		default:
			t.Fatalf("%q: no such trait", trait)
		}
	}
	return parseJSON(t, fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q%s},"spec":{"version":%q},"status":{%s}}`,
		of.GroupVersion(), of.Kind, name, namespace, more, words[2], status))
}

func typeNamed(t testing.TB, kind string) object.Type {
	t.Helper()
	for _, of := range []object.Type{pods, jobs, zones, files} {
		if of.Kind == kind {
			return of
		}
	}
	t.Fatalf("%q: no such kind", kind)
	return object.Type{}
}

// remembered are the stored revisions in the form that remembers takes, the oldest first.
func (w *world) remembered() []string {
	var texts []string
	for _, record := range w.stored {
		var patch struct{ Spec struct{ Version string } }
		if err := json.Unmarshal(record.ParentPatch.Raw, &patch); err != nil {
			w.t.Fatal(err)
		}
		var claims []string
		for _, of := range record.Children {
			for _, name := range of.Names {
				claims = append(claims, of.Kind+" "+name)
			}
		}
		slices.Sort(claims)
		texts = append(texts, strings.TrimSpace(patch.Spec.Version+": "+strings.Join(claims, ", ")))
	}
	slices.Sort(texts)
	return texts
}

// wanted are the children of an answer in the form in which the parent lists them, with the
// version.
func wanted(response *pipeline.Response) []string {
	var texts []string
	for _, desired := range response.Children {
		name := strings.TrimPrefix(desired.Key().String(), "/")
		texts = append(texts, fmt.Sprintf("%s %s %s", desired.Kind, name, strings.Trim(string(desired.Lookup("spec", "version")), `"`)))
	}
	return texts
}

func conditionText(condition metav1.Condition) string {
	return fmt.Sprintf("%s %s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
}

func parse(t testing.TB, text string) *object.Object {
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
