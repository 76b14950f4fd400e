// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerrevision

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// shownHashLength is how many characters are shown of the hash in a revision's name. They are
// enough to tell the revisions of a parent apart.
const shownHashLength = 10

// newTable returns the table of ControllerRevisions.
func newTable() rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Parent", Type: "string", Description: "The object that this is a version of."},
		{Name: "Revision", Type: "string", Description: "The beginning of the hash that tells the versions of the parent apart."},
		{Name: "Children", Type: "integer", Description: "How many children are, or are to be, at this version."},
		{Name: "Current", Type: "boolean", Description: "Whether the parent is at this version now, so that its children move to it."},
	}
	return resource.NewTable(columns, nil, func(revision *v1alpha1.ControllerRevision) ([]any, []any) {
		return []any{parent(revision), hash(revision.Name), int64(children(revision)), isCurrent(revision)}, nil
	})
}

func isCurrent(revision *v1alpha1.ControllerRevision) bool {
	_, current := revision.Annotations[v1alpha1.CurrentRevisionAnnotation]
	return current
}

func parent(revision *v1alpha1.ControllerRevision) string {
	owner := metav1.GetControllerOf(revision)
	if owner == nil {
		return "<none>"
	}
	return owner.Kind + "/" + owner.Name
}

func hash(name string) string {
	last := name[strings.LastIndex(name, "-")+1:]
	return last[:min(len(last), shownHashLength)]
}

func children(revision *v1alpha1.ControllerRevision) int {
	count := 0
	for _, kind := range revision.Children {
		count += len(kind.Names)
	}
	return count
}
