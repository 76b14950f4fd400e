// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// definition is what a CustomResourceDefinition says about which fields the host keeps.
type definition struct {
	Spec struct {
		PreserveUnknownFields bool `json:"preserveUnknownFields"`
		Versions              []struct {
			Name   string `json:"name"`
			Schema struct {
				OpenAPIV3Schema *fieldSchema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// fieldSchema is the schema of a field.
type fieldSchema struct {
	Properties            map[string]*fieldSchema `json:"properties"`
	AdditionalProperties  json.RawMessage         `json:"additionalProperties"`
	Items                 *fieldSchema            `json:"items"`
	PreserveUnknownFields *bool                   `json:"x-kubernetes-preserve-unknown-fields"`
}

// anyItem is the step of a path from a list to its items.
const anyItem = "[]"

// keeps reports whether the host stores the field at a path.
func (s *fieldSchema) keeps(path ...string) bool {
	if len(path) == 0 || s == nil {
		return true
	}
	if path[0] == anyItem {
		return s.Items.keeps(path[1:]...)
	}
	if next, known := s.Properties[path[0]]; known {
		return next.keeps(path[1:]...)
	}
	return s.PreserveUnknownFields != nil && *s.PreserveUnknownFields || len(s.AdditionalProperties) > 0 && string(s.AdditionalProperties) != "false"
}

// lostFields returns a warning if the schema of the parents lacks fields that a CompositeController
// writes. It returns "" if no schema is known.
func (h Host) lostFields(ctx context.Context, c *controller) string {
	if c.decorates || len(c.parents) == 0 {
		return ""
	}
	parents := c.parents[0]
	body, err := h.Definitions.Get(ctx, parents.GroupResource().String())
	if err != nil {
		if !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).V(2).Info("Failed to read the schema of parents", "resource", parents.GroupResource(), "err", err)
		}
		return ""
	}
	var read definition
	if err := json.Unmarshal(body, &read); err != nil || read.Spec.PreserveUnknownFields {
		return ""
	}
	for _, version := range read.Spec.Versions {
		if of := version.Schema.OpenAPIV3Schema; version.Name == parents.Version && of != nil {
			return warnOfLost(&parents, of, c.rolls)
		}
	}
	return ""
}

// warnOfLost returns the warning about the fields that a schema lacks; "" if it has all.
func warnOfLost(parents *typeRule, of *fieldSchema, rolls bool) string {
	text := fmt.Sprintf("%s: the schema of %q in %s has no ", parents.path, parents.Resource, parents.GroupVersion())
	if !of.keeps("status") {
		return text + "status, so the cluster drops all that hooks answer as status, and status.observedGeneration"
	}
	var lost []string
	if !of.keeps("status", "observedGeneration") {
		lost = append(lost, "status.observedGeneration")
	}
	if rolls && !of.keeps("status", "conditions") {
		lost = append(lost, "status.conditions, which has the condition Updated")
	} else if rolls {
		for _, name := range []string{"type", "status", "reason", "message", "lastTransitionTime"} {
			if !of.keeps("status", "conditions", anyItem, name) {
				lost = append(lost, "status.conditions[]."+name)
			}
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return text + strings.Join(lost, " and no ") + ": the controller writes this, and the cluster drops it"
}
