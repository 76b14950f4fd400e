// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// notShown returns a warning about each rule that can select nothing that all hooks are shown. Such a rule
// is not an error: Metacontroller accepts it and sends an empty group.
func (c *Config) notShown(parent *object.Object, rules []typed) (warnings []pipeline.Warning) {
	if c.NotShown == "" || parent.Namespace == "" {
		return nil
	}
	for i, rule := range rules {
		what := ""
		switch {
		case !rule.of.Namespaced:
			what = fmt.Sprintf("%s is cluster-scoped", rule.of)
		case rule.Namespace != "" && rule.Namespace != parent.Namespace:
			what = fmt.Sprintf("namespace %q is not that of the parent", rule.Namespace)
		default:
			continue
		}
		warnings = append(warnings, pipeline.Warning{
			Reason: pipeline.RelatedNotShown, About: fmt.Sprintf("%d %s", i, rule.of),
			Message: fmt.Sprintf("relatedResources[%d] (%s in %s) of the customize hook: %s, and %s",
				i, rule.Resource, rule.APIVersion, what, c.NotShown),
		})
	}
	return warnings
}
