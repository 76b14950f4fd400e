// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// meantType returns the declared type that was probably meant by the kind and the apiVersion of a
// desired child; nil if none was. Of several types of the kind, it is the one with the nearest
// apiVersion.
func meantType(child *object.Object, declared []pipeline.Group) *object.Type {
	var kinds []string
	for i := range declared {
		kinds = append(kinds, declared[i].Type.Kind)
	}
	kind := nearest.To(child.Kind, kinds)
	var first *object.Type
	var versions []string
	byVersion := map[string]*object.Type{}
	for i := range declared {
		if of := &declared[i].Type; strings.EqualFold(of.Kind, kind) {
			if first == nil {
				first = of
			}
			version := of.GroupVersion().String()
			versions = append(versions, version)
			byVersion[version] = of
		}
	}
	if nearby := byVersion[nearest.To(child.APIVersion, versions)]; nearby != nil {
		return nearby
	}
	return first
}

// undeclared is the error for a desired child of a type that no rule declares.
func undeclared(child *object.Object, rulesField string, meant *object.Type) error {
	remedy := "declare it, or leave the child out"
	if meant != nil {
		remedy = fmt.Sprintf("did you mean %s %s? If not, %s", meant.GroupVersion(), meant.Kind, remedy)
	}
	return fmt.Errorf("child %s: %s declares no kind %q in apiVersion %q; %s", child, rulesField, child.Kind, child.APIVersion, remedy)
}
