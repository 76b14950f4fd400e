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
	for name, test := range map[string]controllerRow{
		"configmap-propagation-controller": {
			parents: []v1alpha1.ResourceRule{rule(group, "configmappropagations")}, status: ready(metav1.ConditionFalse),
			children: []v1alpha1.ResourceRule{rule(group, "configmaps"), rule(group, "statefulsets")},
		},
		"secret-propagation-controller": {
			parents: []v1alpha1.ResourceRule{rule(group, "secretpropagations")}, status: ready(metav1.ConditionUnknown),
		},
		"a-decorator-of-many-types": {
			parents: []v1alpha1.ResourceRule{
				rule("apps", "deployments"), rule("apps", "daemonsets"), rule("apps", "statefulsets"), rule("batch", "jobs"),
			},
			status: ready(metav1.ConditionTrue),
		},
		"one-that-nobody-has-looked-at": {
			parents: []v1alpha1.ResourceRule{rule(group, "clusteredparents")}, status: &v1alpha1.ControllerStatus{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			convertor := newControllerTable(func(*v1alpha1.CompositeController) controllerRow { return test })
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
