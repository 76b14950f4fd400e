// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/*.yaml
var files embed.FS

// The kinds of the objects.
const (
	Composite = "CompositeController"
	Decorator = "DecoratorController"
)

// good are the objects that are changed. They have no errors and no warnings. Their parent type is
// not installed, so no controller runs.
var good = map[string]string{
	Composite: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
spec:
  generateSelector: true
  parentResource: {apiVersion: nothing.example.com/v1, resource: nothings}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}
  hooks: {sync: {webhook: {url: "http://hooks.tools/sync"}}}
`,
	Decorator: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
spec:
  resources:
  - {apiVersion: nothing.example.com/v1, resource: nothings}
  attachments:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}
  hooks: {sync: {webhook: {url: "http://hooks.tools/sync"}}}
`,
}

// change is an entry of the files: what is changed in a good object, and the errors and warnings to
// expect.
type change struct {
	// Case names the change.
	Case string `json:"case"`
	// Kind is the only kind of objects that the change is for. Empty: both.
	Kind string `json:"kind,omitempty"`
	// Metadata and Spec are merged into the object's; null removes a field.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Spec     json.RawMessage `json:"spec,omitempty"`
	// Webhook, if set, replaces the webhook of the sync hook.
	Webhook json.RawMessage `json:"webhook,omitempty"`

	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Case is an object with the errors or warnings to expect.
type Case struct {
	// Name describes the change.
	Name   string
	Object *unstructured.Unstructured
	// Errors are all errors that the object is refused for, each with its field. Empty: it is
	// accepted.
	Errors []string
	// Warnings are all warnings about an object that is accepted.
	Warnings []string
}

// Refused returns the objects that validation must refuse.
func Refused(t testing.TB) []Case { return load(t, "refused.yaml") }

// Accepted returns the objects that must be accepted, with or without warnings.
func Accepted(t testing.TB) []Case { return load(t, "accepted.yaml") }

func load(t testing.TB, name string) []Case {
	t.Helper()
	data, err := files.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var changes []change
	if err := yaml.UnmarshalStrict(data, &changes); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var cases []Case
	names := map[string]bool{}
	for _, change := range changes {
		for _, kind := range []string{Composite, Decorator} {
			if change.Kind != "" && change.Kind != kind {
				continue
			}
			made, err := change.apply(kind)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, change.Case, err)
			}
			if id := kind + " " + made.Object.GetName(); names[id] {
				t.Fatalf("%s: there are two objects %s", name, id)
			} else {
				names[id] = true
			}
			cases = append(cases, made)
		}
	}
	return cases
}

// longestName leaves room for a finalizer with the name in it.
const longestName = 43

// notInNames are the characters that the name of an object cannot have.
var notInNames = regexp.MustCompile("[^a-z0-9]+")

func (c change) apply(kind string) (Case, error) {
	object, err := yaml.YAMLToJSON([]byte(good[kind]))
	if err != nil {
		return Case{}, err
	}
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(c.Case), "-"), "-")
	name = strings.TrimRight(name[:min(len(name), longestName)], "-")
	patches := []string{fmt.Sprintf(`{"metadata":{"name":%q}}`, name)}
	if c.Metadata != nil {
		patches = append(patches, fmt.Sprintf(`{"metadata":%s}`, c.Metadata))
	}
	if c.Webhook != nil {
		patches = append(patches, `{"spec":{"hooks":{"sync":{"webhook":null}}}}`, fmt.Sprintf(`{"spec":{"hooks":{"sync":{"webhook":%s}}}}`, c.Webhook))
	}
	if c.Spec != nil {
		patches = append(patches, fmt.Sprintf(`{"spec":%s}`, c.Spec))
	}
	for _, patch := range patches {
		if object, err = jsonpatch.MergePatch(object, []byte(patch)); err != nil {
			return Case{}, err
		}
	}
	made := Case{Name: kind + ": " + c.Case, Object: &unstructured.Unstructured{}, Errors: c.Errors, Warnings: c.Warnings}
	return made, made.Object.UnmarshalJSON(object)
}
