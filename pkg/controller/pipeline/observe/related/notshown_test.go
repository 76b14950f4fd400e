// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestRulesWhoseObjectsNoHookIsShown(t *testing.T) {
	const because, of = "hooks of version v1 are shown nothing", " of the customize hook: "
	web := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: a, namespace: own}}`)
	fleet := parsed(t, `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: a}}`)
	rules := []pipeline.RelatedRule{
		{APIVersion: "v1", Resource: "configmaps"},
		{APIVersion: "v1", Resource: "namespaces"},
		{APIVersion: "v1", Resource: "secrets", Namespace: "own"},
		{APIVersion: "v1", Resource: "secrets", Namespace: "other"},
	}
	found, err := ResolveFunc(resolve).find(t.Context(), rules)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"relatedResources[1] (namespaces in v1)" + of + namespaces.String() + " is cluster-scoped, and " + because,
		"relatedResources[3] (secrets in v1)" + of + `namespace "other" is not that of the parent, and ` + because,
	}
	var got []string
	for _, warning := range (&Config{NotShown: because}).notShown(web, found) {
		got = append(got, warning.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the warnings differ (-want +got):\n%s", diff)
	}
	if got := (&Config{NotShown: because}).notShown(fleet, found); len(got) > 0 {
		t.Errorf("about a cluster-scoped parent: %v", got)
	}
	if got := (&Config{}).notShown(web, found); len(got) > 0 {
		t.Errorf("with hooks of version v2: %v", got)
	}
}
