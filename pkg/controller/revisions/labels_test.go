// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestQ5NewRevisionsMatchTheSelectorOfTheirParent(t *testing.T) {
	const app, tier = "app", "tier"
	tests := map[string]struct {
		// template are the labels of the parent's Pod template.
		template  string
		generated map[string]string
		selector  labels.Selector
		want      labels.Set
	}{
		"a template that matches, as in the original": {
			template: `{app: shop, version: two}`, selector: require(app, selection.In, "shop"),
			want: labels.Set{app: "shop", "version": "two"},
		},
		"a generated selector, as in the original": {
			template: `{app: shop}`, generated: map[string]string{"controller-uid": "u"}, selector: require("controller-uid", selection.Equals, "u"),
			want: labels.Set{"controller-uid": "u"},
		},
		"no template":                            {template: `null`, selector: require(app, selection.Equals, "shop"), want: labels.Set{app: "shop"}},
		"a template of something else":           {template: `[1]`, selector: require(app, selection.Equals, "shop"), want: labels.Set{app: "shop"}},
		"a template with another value":          {template: `{app: store}`, selector: require(app, selection.Equals, "shop"), want: labels.Set{app: "shop"}},
		"one of several values, the first":       {template: `{}`, selector: require(app, selection.In, "web", "shop"), want: labels.Set{app: "shop"}},
		"a label that must be there":             {template: `{}`, selector: require(app, selection.Exists), want: labels.Set{app: ""}},
		"a label that must not be there":         {template: `{app: shop, tier: a}`, selector: require(tier, selection.DoesNotExist), want: labels.Set{app: "shop"}},
		"a value that must not be there":         {template: `{app: shop, tier: a}`, selector: require(tier, selection.NotIn, "a"), want: labels.Set{app: "shop"}},
		"labels of the template that cannot be":  {template: `{app: shop, "a b": c, d: "e f"}`, selector: labels.Everything(), want: labels.Set{app: "shop"}},
		"a selector that only the template fits": {template: `{app: shop, tier: b}`, selector: require(tier, selection.NotIn, "a"), want: labels.Set{app: "shop", tier: "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := labels.Set(Labels(&pipeline.Snapshot{
				ParentType: webs, Selector: test.selector, GeneratedLabels: test.generated,
				Parent: parse(t, `{kind: Web, metadata: {name: shop}, spec: {version: v1, template: {metadata: {labels: `+test.template+`}}}}`),
			}))
			test.want["metacontroller.k8s.io/apiGroup"], test.want["metacontroller.k8s.io/resource"] = "ctl.example", "webs"
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("labels differ (-want +got):\n%s", diff)
			}
			if !test.selector.Matches(got) {
				t.Errorf("%s does not match %v", test.selector, got)
			}
		})
	}
}

func require(key string, operator selection.Operator, values ...string) labels.Selector {
	requirement, err := labels.NewRequirement(key, operator, values)
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*requirement)
}
