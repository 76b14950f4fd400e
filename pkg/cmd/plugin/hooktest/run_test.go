// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/resource"
)

const (
	parent      = "parent: {apiVersion: example.com/v1, kind: Website, metadata: {name: shop}, spec: {text: hi}, status: {}}\n"
	withLabels  = "parent: {apiVersion: example.com/v1, kind: Website, metadata: {name: shop}, spec: {selector: {matchLabels: {site: shop}}}, status: {}}\n"
	deployment  = "parent: {apiVersion: apps/v1, kind: Deployment, metadata: {name: shop, labels: {decorated: \"yes\"}}}\n"
	wantsA      = `{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"text":"hi"}}],"status":{}}`
	wantsLabels = `{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"site":"shop"}},"data":{"text":"hi"}}],"status":{}}`
	attachesA   = `{"attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"text":"hi"}}],"labels":{"seen":"yes"}}`
)

// The code that works in a cluster decides what comes of a case.
func TestWhatComesOfASync(t *testing.T) {
	for name, test := range map[string]struct{ controller, test, answer string }{
		"a child that is missing is created": {composite, parent + `
expect:
  result: Changed
  steps:
  - step: create ConfigMap a
    why: the hook lists it and it does not exist
    object: {metadata: {namespace: default, ownerReferences: [{kind: Website, name: shop}]}, data: {text: hi}}
`, wantsA},
		"a child as it is wanted is kept": {composite, parent + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hi}}]
expect: {result: Unchanged, steps: []}
`, wantsA},
		"a field that the hook does not want any more is removed": {composite, parent + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hi, more: x}}]
expect:
  exact: true
  result: Changed
  children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hi}}]
  status: {}
  steps: [update ConfigMap a]
`, wantsA},
		"a field that others have set stays": {composite, parent + `
children:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {metacontroller.k8s.io/last-applied-configuration: '{"data":{"text":"hi"}}'}}
  data: {text: hi, more: x}
expect: {steps: [{step: update ConfigMap a, changes: {}}]}
`, wantsA},
		"a child that the hook does not list is deleted": {composite, parent + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]
expect: {steps: [delete ConfigMap b, create ConfigMap a]}
`, wantsA},
		"an orphan that the parent selects is adopted": {selecting, withLabels + `
others: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {site: shop}}, data: {text: hi}}]
expect: {steps: [{step: adopt ConfigMap a, changes: {"metadata.ownerReferences": {to: [{name: shop}]}}}]}
`, wantsLabels},
		"a child that the parent does not select any more is released": {selecting, withLabels + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {site: other}}}]
expect: {steps: [release ConfigMap b, create ConfigMap a]}
`, wantsLabels},
		"server-side apply: a child is applied": {strings.Replace(composite, "method: InPlace", "method: InPlace, apply: ServerSideApply", 1), parent + `
expect: {steps: [apply ConfigMap a]}
`, wantsA},
		"server-side apply: a child as it was applied is kept": {strings.Replace(composite, "method: InPlace", "method: InPlace, apply: ServerSideApply", 1), parent + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hi}}]
expect: {steps: []}
`, wantsA},
		"server-side apply: the fields that would change are shown": {strings.Replace(composite, "method: InPlace", "method: InPlace, apply: ServerSideApply", 1), parent + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: old, more: x}}]
expect: {steps: [{step: apply ConfigMap a, changes: {data.text: {from: old, to: hi}, data.more: {from: x}}}]}
`, wantsA},
		"a decorator attaches": {decorator, deployment + `
expect:
  labels: {seen: "yes"}
  children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]
  steps: [update metadata of Deployment shop, create ConfigMap a]
`, attachesA},
		"a decorator keeps an attachment": {decorator, strings.Replace(deployment, "decorated:", "seen: \"yes\", decorated:", 1) + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hi}}]
expect: {result: Unchanged}
`, attachesA},
		"a target that opts out is finalized": {decorator, strings.Replace(deployment, `"yes"`, `"no"`, 1) + `
children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: hi}}]
expect: {finalized: true, steps: [delete ConfigMap a, update finalizers of Deployment shop]}
`, `{"attachments":[],"finalized":true}`},
		"a new parent gets the finalizer": {decorator, strings.Replace(deployment, "name: shop", "name: shop, finalizers: []", 1) + `
expect: {steps: [update finalizers of Deployment shop, update metadata of Deployment shop, create ConfigMap a]}
`, attachesA},
		"a paused parent is told of": {composite, strings.Replace(parent, "name: shop", `name: shop, annotations: {metacontroller.k8s.io/paused: "true"}`, 1) + `
expect: {warnings: [{reason: Paused}]}
`, wantsA},
		"a field that a cluster would drop is told of": {composite, parent + `
expect: {warnings: [{reason: UnknownField}], steps: [create ConfigMap a]}
`, strings.Replace(wantsA, `"data"`, `"dta"`, 1)},
		"children that are refused": {composite, parent + `
expect: {result: Failed, refused: [is not in the namespace of its parent]}
`, strings.Replace(wantsA, `"name":"a"`, `"name":"a","namespace":"other"`, 1)},
		"an answer that cannot be read": {composite, parent + `
expect: {result: Failed, error: 'unknown field "childre"'}
`, `{"childre":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			result := runOne(t, map[string]string{"controller.yaml": test.controller, "tests/a.yaml": test.test}, test.answer)
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			if result.Difference != "" {
				t.Errorf("it is not as expected:\n%s", result.Difference)
			}
		})
	}
}

func TestCasesThatCannotBeRun(t *testing.T) {
	for name, test := range map[string]struct{ test, want string }{
		"a parent that is no object": {"parent: {metadata: {name: a}}\nexpect: {}", "it has no apiVersion or kind"},
		"a parent of an unknown type": {"parent: {apiVersion: example.com/v1, kind: Other, metadata: {name: " +
			"a}}\nexpect: {}", "add its CustomResourceDefinition"},
		"a parent that no controller is for": {"parent: {apiVersion: v1, kind: Pod, metadata: {name: a}}\nexpect: {}",
			"no controller handles it; the folder has cc/websites"},
		"a file that is missing":             {"parent: none.yaml\nexpect: {}", "none.yaml"},
		"a controller that the folder lacks": {"controller: other\n" + parent + "expect: {}", "no controller handles it"},
		"a child with a misspelt field":      {parent + "children: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {}}]\nexpect: {}", "children[0]: the type ConfigMap of v1 has no field dta, did you mean data?"},
		"two objects of the same name":       {parent + "others: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Pod, metadata: {name: a}}]\nexpect: {}", "the object Pod default/a exists twice"},
		"a revision without such children":   {parent + "revisions: [{parent: {}, children: {Pod: [a]}}]\nexpect: {}", "revisions[0]: children: no child is of the kind Pod"},
		"no expectation":                     {parent, "the case has no field expect"},
	} {
		t.Run(name, func(t *testing.T) {
			result := runOne(t, map[string]string{"controller.yaml": composite, "tests/a.yaml": test.test}, wantsA)
			if result.Err == nil || !strings.Contains(result.Err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", result.Err, test.want)
			}
		})
	}
}

func TestAHookThatFailsIsTheErrorOfTheSync(t *testing.T) {
	suite, err := Load(folder(t, map[string]string{
		"controller.yaml": composite,
		"tests/a.yaml":    parent + "expect: {result: Failed, error: did not return a JSON object}",
	}), resource.FilenameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result := suite.Run(t.Context(), suite.Cases[0], answering(t, "oh no")); result.Failed() {
		t.Errorf("%v %s", result.Err, result.Difference)
	}
}
