// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Whatever the hook answers, an attachment names its decorator: when it is created, when it is
// updated, and in what was last applied.
func TestAttachmentsAreStampedWithTheirDecorator(t *testing.T) {
	desired := map[string]string{
		"no annotations":       `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: one}}`,
		"null for annotations": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: null}, data: {key: one}}`,
		"other annotations":    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {x: "1"}}, data: {key: one}}`,
		"that of another":      `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {metacontroller.k8s.io/decorator-controller: other}}, data: {key: one}}`,
	}
	for name, child := range desired {
		for _, engine := range []Engine{DynamicApply, ServerSideApply} {
			t.Run(name+", "+string(engine), func(t *testing.T) {
				w := newTarget(t, web, configMaps)
				w.strategies[configMaps.GroupKind()] = Strategy{Method: InPlace, Engine: engine}
				created := stepFor(t, w.plan(w.answer(child)), "a")
				if got := stampOf(created.Body); got != "deco" {
					t.Errorf("it is created as that of %q", got)
				}
				if engine == ServerSideApply {
					return
				}
				var record string
				if err := utiljson.Unmarshal(object.Lookup(created.Body, "metadata", "annotations", object.LastAppliedAnnotation), &record); err != nil {
					t.Fatal(err)
				}
				if got := stampOf([]byte(record)); got != "deco" {
					t.Errorf("it is on record as that of %q", got)
				}
				w.carryOut(w.plan(w.answer(child)))
				if got := writes(w.plan(w.answer(child))); len(got) > 0 {
					t.Errorf("the next sync writes %v", got)
				}
				updated := stepFor(t, w.plan(w.answer(strings.Replace(child, "one", "two", 1))), "a")
				if got := stampOf(updated.Body); got != "deco" || updated.Op != pipeline.Update {
					t.Errorf("%s as that of %q", updated.Op, got)
				}
			})
		}
	}
}

func stampOf(body []byte) string {
	var stamp string
	_ = utiljson.Unmarshal(object.Lookup(body, "metadata", "annotations", decoratorAnnotation), &stamp)
	return stamp
}

func TestAttachmentsNeedNoLabelsAndAreManagedAsChildren(t *testing.T) {
	w := newTarget(t, web, configMaps).method(InPlace).has(configMaps, attachA, attachB)
	planned := w.plan(w.answer(strings.Replace(attachA, "one", "two", 1), `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`))
	want := []string{"delete ConfigMap default/b", "update ConfigMap default/a", "create ConfigMap default/c"}
	if diff := cmp.Diff(want, steps(planned)); diff != "" || len(planned.Refused) > 0 {
		t.Errorf("refused %v, steps (-want +got):\n%s", planned.Refused, diff)
	}
}

func TestTheTargetComesBeforeItsAttachments(t *testing.T) {
	w := newTarget(t, targetWith("", ""), configMaps).withSubresource(true)
	response := w.answer(attachA)
	response.Labels, response.Status = changes("a", "1"), []byte(`{"x":1}`)
	want := []string{"status Web default/shop", "metadata Web default/shop", "create ConfigMap default/a"}
	if diff := cmp.Diff(want, steps(w.plan(response))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// Attachments are managed in the sync that takes the finalizer off, too.
func TestAttachmentsOfATargetThatIsLetGo(t *testing.T) {
	const deleting = `, deletionTimestamp: "2026-03-04T05:06:07Z"`
	const undeclared = `{apiVersion: v1, kind: Secret, metadata: {name: s}}`
	tests := map[string]struct {
		metadata string
		answer   []string
		want     []string
	}{
		"one that opts out":                                            {`, labels: {out: "1"}` + ourHold, nil, []string{"finalizer Web default/shop", "delete ConfigMap default/a"}},
		"one that is being deleted":                                    {deleting + ourHold, nil, []string{"metadata Web default/shop", "delete ConfigMap default/a"}},
		"one that opts out stays when an attachment is refused":        {`, labels: {out: "1"}` + ourHold, []string{undeclared}, []string{"delete ConfigMap default/a"}},
		"one that is being deleted goes when an attachment is refused": {deleting + ourHold, []string{undeclared}, []string{"metadata Web default/shop", "delete ConfigMap default/a"}},
		"one that is being deleted without our finalizer":              {deleting + `, finalizers: [other/one]`, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newTarget(t, targetWith(test.metadata, ""), configMaps).has(configMaps, attachA)
			response := w.answer(test.answer...)
			response.Finalized = true
			planned := w.plan(response)
			if diff := cmp.Diff(test.want, steps(planned)); diff != "" {
				t.Errorf("refused %v, steps (-want +got):\n%s", planned.Refused, diff)
			}
		})
	}
}

func TestATargetIsWrittenEvenIfAnAttachmentIsRefused(t *testing.T) {
	w := newTarget(t, targetWith("", ""), configMaps)
	response := w.answer(`{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	response.Labels = changes("a", "1")
	planned := w.plan(response)
	if diff := cmp.Diff([]string{"metadata Web default/shop"}, steps(planned)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	want := []string{`child Secret s: spec.attachments declares no kind "Secret" in apiVersion "v1"; declare it, or leave the child out`}
	if diff := cmp.Diff(want, refusals(planned)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestQ38AnAttachmentListedTwice(t *testing.T) {
	w := newTarget(t, targetWith("", ""), configMaps)
	response := w.answer(attachA, attachA)
	response.Labels = changes("a", "1")
	if planned := w.plan(response); len(planned.Refused) > 0 || len(planned.Warnings) != 1 || len(planned.Steps) != 2 {
		t.Errorf("refused %v, steps %v", planned.Refused, steps(planned))
	}
	response.Strict = true
	if planned := w.plan(response); len(planned.Refused) != 1 || len(planned.Steps) > 0 {
		t.Errorf("refused %v, steps %v", planned.Refused, steps(planned))
	}
}
