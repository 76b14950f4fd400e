// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

func newTable() rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Kind", Type: "string", Description: "The kind of the object."},
		{Name: "Namespace", Type: "string", Description: "The namespace of the object."},
		{Name: "Object", Type: "string", Description: "The name of the object."},
		{Name: "From", Type: "string", Description: "The resourceVersion that the object had at the other server when it was imported last."},
		{Name: "Changed", Type: "boolean", Description: "Whether the object was changed or deleted here since it was imported, or was never imported."},
	}
	return resource.NewTable(columns, nil, func(shown *migration.Import) ([]any, []any) {
		var of metav1.PartialObjectMetadata
		_ = json.Unmarshal(shown.Spec.Object.Raw, &of) // what cannot be read is left empty
		return []any{of.Kind, of.Namespace, of.Name, shown.Status.SourceResourceVersion, shown.Status.Changed}, nil
	})
}
