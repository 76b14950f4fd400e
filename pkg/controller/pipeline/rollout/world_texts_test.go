// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
