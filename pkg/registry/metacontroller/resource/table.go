// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Column is a column of a table whose rows are made of values of type R.
type Column[R any] struct {
	// Name is the heading. Type is string by default.
	Name, Type, Description string
	// Wide is true for the columns that only kubectl get -o wide prints. They come last.
	Wide bool
	// Cell returns the cell of a row.
	Cell func(R) any
}

// ageColumn returns the column of the time since the creation.
func ageColumn[R any](created func(R) metav1.Time) Column[R] {
	return Column[R]{Name: "Age", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		Cell: func(row R) any { return metatable.ConvertToHumanReadableDateType(created(row)) }}
}

// NewTable returns the table convertor of a kind. row returns the values that the cells of an object show. columns are
// the columns after the name, which is added.
func NewTable[O, R any](row func(O) R, columns ...Column[R]) rest.TableConvertor {
	definitions := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name",
		Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}}
	for _, column := range columns {
		definition := metav1.TableColumnDefinition{Name: column.Name, Type: cmp.Or(column.Type, "string"),
			Description: column.Description}
		if column.Wide {
			definition.Priority = 1
		}
		definitions = append(definitions, definition)
	}
	return tableConvertor[O, R]{definitions: definitions, row: row, columns: columns}
}

type tableConvertor[O, R any] struct {
	definitions []metav1.TableColumnDefinition
	row         func(O) R
	columns     []Column[R]
}

// ConvertToTable returns a table of an object or a list of objects.
func (c tableConvertor[O, R]) ConvertToTable(
	_ context.Context, object, tableOptions runtime.Object,
) (*metav1.Table, error) {
	table := &metav1.Table{}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if single, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = single.GetResourceVersion()
	}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.definitions
	}
	add := func(item runtime.Object) error {
		cells, err := c.cells(item)
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: item}})
		return nil
	}
	if !meta.IsListType(object) {
		return table, add(object)
	}
	table.Rows = make([]metav1.TableRow, 0, meta.LenList(object))
	return table, meta.EachListItem(object, add)
}

func (c tableConvertor[O, R]) cells(object runtime.Object) ([]any, error) {
	typed, ok := object.(O)
	if !ok {
		return nil, fmt.Errorf("cannot convert %T to a table row: it must be %T", object, *new(O))
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	row := c.row(typed)
	cells := append(make([]any, 0, len(c.definitions)), accessor.GetName())
	for _, column := range c.columns {
		cells = append(cells, column.Cell(row))
	}
	return cells, nil
}
