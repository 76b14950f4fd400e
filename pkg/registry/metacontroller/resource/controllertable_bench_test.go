// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

// thousands is a list of as many running controllers.
func thousands(t testing.TB, of int) *v1alpha1.CompositeControllerList {
	list := &v1alpha1.CompositeControllerList{}
	for i := range of {
		list.Items = append(list.Items, *registrytest.Decode[*v1alpha1.CompositeController](t, compositeHeader+fmt.Sprintf(`
metadata: {name: c%d, creationTimestamp: "2026-01-02T03:04:05Z"},
spec: {
  parentResource: {apiVersion: ctl.example.com/v1, resource: catsets},
  childResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: services}],
  hooks: {sync: {webhook: {url: "http://hooks.default/sync"}}}},
status: {
  parents: {total: 3, synced: 3, failing: 0},
  conditions: [{type: Ready, status: "True", reason: Running}, {type: HooksReachable, status: "True", reason: Answered}]}}`, i)))
	}
	return list
}

func TestATableOfThousandsHasARowForEach(t *testing.T) {
	list := thousands(t, 2000)
	table, err := compositeControllers().table.ConvertToTable(t.Context(), list, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != len(list.Items) || table.Rows[1999].Cells[0] != "c1999" {
		t.Errorf("there are %d rows", len(table.Rows))
	}
}

func BenchmarkATableOfThousands(b *testing.B) {
	list := thousands(b, 5000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compositeControllers().table.ConvertToTable(b.Context(), list, &metav1.TableOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
