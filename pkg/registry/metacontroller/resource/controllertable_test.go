// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The names are the longest ones of the examples.
func TestRowsFitInto100Characters(t *testing.T) {
	rule := func(group, resource string) v1alpha1.ResourceRule {
		return v1alpha1.ResourceRule{APIVersion: group + "/v1", Resource: resource}
	}
	ready := func(status metav1.ConditionStatus) *v1alpha1.ControllerStatus {
		return &v1alpha1.ControllerStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status}},
			Parents:    &v1alpha1.ParentCounts{Total: 100000, Synced: 99999, Failing: 10000, Warned: 10000},
		}
	}
	const group = "examples.metacontroller.io"
	for name, test := range map[string]Controller{
		"configmap-propagation-controller": {
			Parents: []v1alpha1.ResourceRule{rule(group, "configmappropagations")}, Status: ready(metav1.ConditionFalse),
			Children: []v1alpha1.ResourceRule{rule(group, "configmaps"), rule(group, "statefulsets")},
		},
		"secret-propagation-controller": {
			Parents: []v1alpha1.ResourceRule{rule(group, "secretpropagations")}, Status: ready(metav1.ConditionUnknown),
		},
		"a-decorator-of-many-types": {
			Parents: []v1alpha1.ResourceRule{
				rule("apps", "deployments"), rule("apps", "daemonsets"), rule("apps", "statefulsets"), rule("batch", "jobs"),
			},
			Status: ready(metav1.ConditionTrue),
		},
		"one-that-nobody-has-looked-at": {
			Parents: []v1alpha1.ResourceRule{rule(group, "clusteredparents")}, Status: &v1alpha1.ControllerStatus{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			convertor := NewControllerTable(func(*v1alpha1.CompositeController) Controller { return test })
			table, err := convertor.ConvertToTable(t.Context(), &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{
				Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-300 * 24 * time.Hour)),
			}}, &metav1.TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var shown bytes.Buffer
			if err := printers.NewTablePrinter(printers.PrintOptions{}).PrintObj(table, &shown); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(shown.String()) {
				if width := utf8.RuneCountInString(strings.TrimRight(line, " \n")); width > 100 {
					t.Errorf("a line has %d characters:\n%s", width, line)
				}
			}
		})
	}
}
