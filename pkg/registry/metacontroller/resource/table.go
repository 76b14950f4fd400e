// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// NewTableWithoutAge returns the table convertor of a kind whose columns say more about time than the
// age would. columns are the columns after the name, which is added. wide are the columns that only
// kubectl get -o wide prints. cells returns the cells of columns and wide for one object.
func NewTableWithoutAge[O any](
	columns []metav1.TableColumnDefinition, wide []metav1.TableColumnDefinition, cells func(O) (columns, wide []any),
) rest.TableConvertor {
	return newConvertor(columns, wide, false, cells)
}

// newTable is NewTableWithoutAge with the age after columns.
func newTable[O any](
	columns []metav1.TableColumnDefinition, wide []metav1.TableColumnDefinition, cells func(O) (columns, wide []any),
) rest.TableConvertor {
	age := metav1.TableColumnDefinition{Name: "Age", Type: "string",
		Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}
	return newConvertor(append(slices.Clone(columns), age), wide, true, cells)
}

func newConvertor[O any](
	columns, wide []metav1.TableColumnDefinition, hasAge bool, cells func(O) (columns, wide []any),
) rest.TableConvertor {
	name := metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name",
		Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
	definitions := append([]metav1.TableColumnDefinition{name}, columns...)
	for _, column := range wide {
		column.Priority = 1
		definitions = append(definitions, column)
	}
	return tableConvertor[O]{definitions: definitions, hasAge: hasAge, cells: cells}
}

type tableConvertor[O any] struct {
	definitions []metav1.TableColumnDefinition
	hasAge      bool
	cells       func(O) (columns, wide []any)
}

// ConvertToTable makes a table of an object or a list of objects.
func (c tableConvertor[O]) ConvertToTable(
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
	if !c.hasAge {
		return table, c.addRows(table, object)
	}
	rows, err := metatable.MetaToTableRow(object, c.row)
	if err != nil {
		return nil, err
	}
	table.Rows = rows
	return table, nil
}

// addRows is MetaToTableRow for kinds that may have thousands of objects. It does not write ages.
func (c tableConvertor[O]) addRows(table *metav1.Table, object runtime.Object) error {
	add := func(item runtime.Object) error {
		cells, err := c.row(item, nil, "", "")
		if err != nil {
			return err
		}
		accessor, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		cells[0] = accessor.GetName()
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: item}})
		return nil
	}
	if !meta.IsListType(object) {
		return add(object)
	}
	table.Rows = make([]metav1.TableRow, 0, meta.LenList(object))
	return meta.EachListItem(object, add)
}

func (c tableConvertor[O]) row(object runtime.Object, _ metav1.Object, name, age string) ([]any, error) {
	typed, ok := object.(O)
	if !ok {
		return nil, fmt.Errorf("cannot convert %T to a table row: it must be %T", object, *new(O))
	}
	columns, wide := c.cells(typed)
	row := make([]any, 1, len(c.definitions))
	row[0] = name
	row = append(row, columns...)
	if c.hasAge {
		row = append(row, age)
	}
	return append(row, wide...), nil
}
