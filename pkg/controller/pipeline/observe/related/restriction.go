// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// restriction are the types that a customize hook may ask for; none is any. A type is allowed in
// each of its versions: they show the same objects.
type restriction []v1alpha1.ResourceRule

// check returns an error if a rule asks for another type.
func (r restriction) check(written []pipeline.RelatedRule) error {
	for i, rule := range written {
		if len(r) > 0 && !slices.ContainsFunc(r, func(listed v1alpha1.ResourceRule) bool { return sameResource(listed, rule) }) {
			return ruleError(i, rule, fmt.Errorf("the controller limits what its customize hook may ask for; add {apiVersion: %s, resource: %s} to spec.relatedResources, or have the hook not ask for it",
				rule.APIVersion, rule.Resource))
		}
	}
	return nil
}

func sameResource(listed v1alpha1.ResourceRule, asked pipeline.RelatedRule) bool {
	if listed.APIVersion == asked.APIVersion {
		return listed.Resource == asked.Resource
	}
	a, errA := schema.ParseGroupVersion(listed.APIVersion)
	b, errB := schema.ParseGroupVersion(asked.APIVersion)
	return errA == nil && errB == nil && a.Group == b.Group && listed.Resource == asked.Resource
}
