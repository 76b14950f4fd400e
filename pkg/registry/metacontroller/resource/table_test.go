// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func newTestTable(t *testing.T, object runtime.Object, options *metav1.TableOptions) *metav1.Table {
	t.Helper()
	type column = Column[*v1alpha1.ControllerRevision]
	convertor := NewTable(func(of *v1alpha1.ControllerRevision) *v1alpha1.ControllerRevision { return of },
		column{Name: "Namespace", Cell: func(of *v1alpha1.ControllerRevision) any { return of.Namespace }},
		ageColumn(func(of *v1alpha1.ControllerRevision) metav1.Time { return of.CreationTimestamp }),
		column{Name: "UID", Wide: true, Cell: func(of *v1alpha1.ControllerRevision) any { return string(of.UID) }})
	table, err := convertor.ConvertToTable(t.Context(), object, options)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func revision(name string) v1alpha1.ControllerRevision {
	return v1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: "uid-1", ResourceVersion: "7",
		CreationTimestamp: metav1.NewTime(time.Now().Add(-90 * 24 * time.Hour)),
	}}
}

func TestTableOfOneObject(t *testing.T) {
	object := revision("a")
	table := newTestTable(t, &object, &metav1.TableOptions{})

	if table.ResourceVersion != "7" {
		t.Errorf("resourceVersion = %q, want that of the object", table.ResourceVersion)
	}
	type column struct {
		Name     string
		Priority int32
	}
	var columns []column
	for _, definition := range table.ColumnDefinitions {
		columns = append(columns, column{definition.Name, definition.Priority})
	}
	if diff := cmp.Diff([]column{{"Name", 0}, {"Namespace", 0}, {"Age", 0}, {"UID", 1}}, columns); diff != "" {
		t.Errorf("columns differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"a", "ns", "90d", "uid-1"}, table.Rows[0].Cells); diff != "" {
		t.Errorf("cells differ (-want +got):\n%s", diff)
	}
	if table.Rows[0].Object.Object != &object {
		t.Error("the row does not carry its object")
	}
}

func TestTableOfAList(t *testing.T) {
	remaining := int64(5)
	list := &v1alpha1.ControllerRevisionList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: &remaining},
		Items:    []v1alpha1.ControllerRevision{revision("a"), revision("b")},
	}
	table := newTestTable(t, list, &metav1.TableOptions{})

	if diff := cmp.Diff(list.ListMeta, table.ListMeta); diff != "" {
		t.Errorf("what is said about the list differs (-want +got):\n%s", diff)
	}
	var names []any
	for _, row := range table.Rows {
		names = append(names, row.Cells[0])
	}
	if diff := cmp.Diff([]any{"a", "b"}, names); diff != "" {
		t.Errorf("rows differ (-want +got):\n%s", diff)
	}
}

func TestTableOfAnEmptyList(t *testing.T) {
	table := newTestTable(t, &v1alpha1.ControllerRevisionList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}, nil)
	if table.ResourceVersion != "9" || len(table.Rows) != 0 || len(table.ColumnDefinitions) != 4 {
		t.Errorf("table = %+v, want the columns, the resourceVersion and no rows", table)
	}
}

func TestTableWithoutHeaders(t *testing.T) {
	object := revision("a")
	table := newTestTable(t, &object, &metav1.TableOptions{NoHeaders: true})
	if len(table.ColumnDefinitions) != 0 || len(table.Rows) != 1 {
		t.Errorf("table = %+v, want one row and no columns", table)
	}
}

func TestATableIsMadeOfObjectsOfItsKindOnly(t *testing.T) {
	table, err := NewTable[*v1alpha1.ControllerRevision](func(of *v1alpha1.ControllerRevision) any { return of }).
		ConvertToTable(t.Context(), &v1alpha1.CompositeController{}, nil)
	if err == nil {
		t.Errorf("table = %+v, want an error", table)
	}
}
