// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"fmt"
	"slices"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestRulesOfAControllerThatIsLimitedToNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		rule        pipeline.RelatedRule
		confinement string
		want        []string
		err         string
	}{
		"without a namespace": {
			rule: pipeline.RelatedRule{Resource: "configmaps"}, want: []string{"one", "own"},
		},
		"without a namespace, in version v1": {
			rule: pipeline.RelatedRule{Resource: "configmaps"}, confinement: "set the hooks to v2", want: []string{"own"},
		},
		"with one of the namespaces": {
			rule: pipeline.RelatedRule{Resource: "configmaps", Namespace: "one"}, want: []string{"one"},
		},
		"with another namespace": {
			rule: pipeline.RelatedRule{Resource: "configmaps", Namespace: "two"},
			err:  `namespace "two" is not one of spec.namespaces, which limits the controller to one, own`,
		},
		"with labels of namespaces": {
			rule: pipeline.RelatedRule{Resource: "configmaps", NamespaceSelector: selector(t, &green)}, want: []string{"one", "own"},
		},
		"of a cluster-scoped type": {
			rule: pipeline.RelatedRule{Resource: "namespaces"},
			err:  `spec.namespaces limits the controller to objects in namespaces, and Namespace.v1 is cluster-scoped`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.rule.APIVersion = "v1"
			found, err := ResolveFunc(resolve).find(t.Context(), []pipeline.RelatedRule{test.rule})
			if err != nil {
				t.Fatal(err)
			}
			limited := &Config{Confinement: test.confinement, Namespaces: object.NewNamespaces([]string{"own", "one"})}
			rules, err := limited.narrow(parsed(t, inNamespace), found)
			if test.err != "" {
				if want := fmt.Sprintf("customize hook: relatedResources[0] (%s in v1): %s", test.rule.Resource, test.err); err == nil || err.Error() != want {
					t.Errorf("the error is\n%v\nwant\n%s", err, want)
				}
				return
			}
			if err != nil || !slices.Equal(rules[0].within, test.want) {
				t.Errorf("the rule selects in %q, and the error is %v, want %q", rules[0].within, err, test.want)
			}
		})
	}
}
