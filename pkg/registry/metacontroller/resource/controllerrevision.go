// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
)

type controllerRevision = v1alpha1.ControllerRevision

// NewControllerRevisions returns the REST storage of ControllerRevisions and of their status subresource.
func NewControllerRevisions(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*Storage, error) {
	return newStorage(controllerRevisions(), scheme, optsGetter)
}

// controllerRevisions returns the kind ControllerRevision. They have a status subresource, as clients of the original's
// CRD may expect one, and no status.
func controllerRevisions() kind[controllerRevision, *controllerRevision] {
	return kind[controllerRevision, *controllerRevision]{
		resource:      "controllerrevisions",
		singular:      "controllerrevision",
		shortNames:    []string{"mcrev"}, // kubectl takes the other names for those of apps
		namespaced:    true,
		newList:       func() runtime.Object { return &v1alpha1.ControllerRevisionList{} },
		contentFields: []string{"parentPatch", "children"},
		content: func(revision *controllerRevision) any {
			return []any{revision.ParentPatch.Raw, revision.Children}
		},
		normalize:      normalizeParentPatch,
		validate:       validation.ValidateControllerRevision,
		validateUpdate: validation.ValidateControllerRevisionUpdate,
		table:          newRevisionTable(),
	}
}

// normalizeParentPatch writes parentPatch as a CRD's storage would: without white space, keys in order. parentPatch is
// free-form JSON, so nothing else makes equal content byte-identical. Validation rejects invalid JSON.
func normalizeParentPatch(revision *controllerRevision) {
	var content any
	if err := json.Unmarshal(revision.ParentPatch.Raw, &content); err != nil {
		return
	}
	if canonical, err := json.Marshal(content); err == nil {
		revision.ParentPatch.Raw = canonical
	}
}

// shownHashLength is the number of characters of the hash in a revision's name that are shown. They are enough to
// distinguish the revisions of a parent.
const shownHashLength = 10

// newRevisionTable returns the table of ControllerRevisions.
func newRevisionTable() rest.TableConvertor {
	type column = Column[*controllerRevision]
	return NewTable(func(revision *controllerRevision) *controllerRevision { return revision },
		column{Name: "Parent", Description: "The object whose version this revision records.", Cell: revisedParent},
		column{Name: "Revision", Description: "The first characters of the hash that identifies the version of the parent.",
			Cell: shownHash},
		column{Name: "Children", Type: "integer",
			Description: "Number of children at this version, or being moved to it.", Cell: childrenAt},
		column{Name: "Current", Type: "boolean",
			Description: "Whether this is the current version of the parent, to which its children move.", Cell: isCurrent},
		ageColumn(func(revision *controllerRevision) metav1.Time { return revision.CreationTimestamp }),
	)
}

func isCurrent(revision *controllerRevision) any {
	_, current := revision.Annotations[v1alpha1.CurrentRevisionAnnotation]
	return current
}

func revisedParent(revision *controllerRevision) any {
	owner := metav1.GetControllerOf(revision)
	if owner == nil {
		return None
	}
	return owner.Kind + "/" + owner.Name
}

func shownHash(revision *controllerRevision) any {
	last := revision.Name[strings.LastIndex(revision.Name, "-")+1:]
	return last[:min(len(last), shownHashLength)]
}

func childrenAt(revision *controllerRevision) any {
	count := int64(0)
	for _, kind := range revision.Children {
		count += int64(len(kind.Names))
	}
	return count
}
