// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

const (
	in           = metav1.LabelSelectorOpIn
	notIn        = metav1.LabelSelectorOpNotIn
	exists       = metav1.LabelSelectorOpExists
	doesNotExist = metav1.LabelSelectorOpDoesNotExist
)

func expression(operator metav1.LabelSelectorOperator, values ...string) []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{{Key: "a", Operator: operator, Values: values}}
}

// Q40: a value of an annotation may be any text, which no label could have.
func TestQ40AnnotationSelector(t *testing.T) {
	sentence := "All of this, " + strings.Repeat("and more, ", 30) + `and {"json": [1]}`
	tests := map[string]struct {
		match       map[string]string
		expressions []metav1.LabelSelectorRequirement
		annotations map[string]string
		want        bool
	}{
		"nothing is asked":                             {nil, nil, nil, true},
		"the value is there":                           {map[string]string{"a": "1"}, nil, map[string]string{"a": "1", "b": "2"}, true},
		"another value is there":                       {map[string]string{"a": "1"}, nil, map[string]string{"a": "2"}, false},
		"the annotation is not there":                  {map[string]string{"a": "1"}, nil, nil, false},
		"an empty value is not an absent annotation":   {map[string]string{"a": ""}, nil, nil, false},
		"the value is no label's":                      {map[string]string{"a": sentence}, nil, map[string]string{"a": sentence}, true},
		"the value is nearly the one that is no label": {map[string]string{"a": sentence}, nil, map[string]string{"a": sentence + "."}, false},
		"In, and it is":                                {nil, expression(in, "x", sentence), map[string]string{"a": sentence}, true},
		"In, and it is not":                            {nil, expression(in, "x", "y"), map[string]string{"a": "z"}, false},
		"In, and it is not there":                      {nil, expression(in, "x"), nil, false},
		"NotIn, and it is":                             {nil, expression(notIn, sentence), map[string]string{"a": sentence}, false},
		"NotIn, and it is not":                         {nil, expression(notIn, "x"), map[string]string{"a": "y"}, true},
		"NotIn, and it is not there":                   {nil, expression(notIn, "x"), nil, true},
		"Exists, and it does":                          {nil, expression(exists), map[string]string{"a": ""}, true},
		"Exists, and it does not":                      {nil, expression(exists), map[string]string{"b": ""}, false},
		"DoesNotExist, and it does":                    {nil, expression(doesNotExist), map[string]string{"a": ""}, false},
		"DoesNotExist, and it does not":                {nil, expression(doesNotExist), nil, true},
		"all must hold, and one does not":              {map[string]string{"b": "2"}, expression(exists), map[string]string{"a": "1"}, false},
		"all must hold, and do":                        {map[string]string{"b": "2"}, expression(exists), map[string]string{"a": "1", "b": "2"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := NewAnnotationSelector(test.match, test.expressions)
			if err != nil {
				t.Fatal(err)
			}
			if got := selector.Matches(&object.Object{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}); got != test.want {
				t.Errorf("matches: %v, want %v", got, test.want)
			}
		})
	}
}

func TestAnAnnotationSelectorThatCannotBeEvaluated(t *testing.T) {
	tests := map[string]struct {
		expressions []metav1.LabelSelectorRequirement
		want        string
	}{
		"an unknown operator":       {expression("Like", "x"), `annotation "a": "Like" is not a valid label selector operator; valid are In, NotIn, Exists and DoesNotExist`},
		"In without values":         {expression(in), `annotation "a": operator In needs values`},
		"NotIn without values":      {expression(notIn), `annotation "a": operator NotIn needs values`},
		"Exists with values":        {expression(exists, "x"), `annotation "a": operator Exists takes no values`},
		"DoesNotExist with a value": {expression(doesNotExist, "x"), `annotation "a": operator DoesNotExist takes no values`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := NewAnnotationSelector(nil, test.expressions); err == nil || err.Error() != test.want {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

// What repeats a whole object is not kept beside the object's JSON, and can be selected all the same.
func TestAnAnnotationThatRepeatsTheObjectIsSelected(t *testing.T) {
	applied, made := parsed(t, `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}}`), parsed(t, `{metadata: {}}`)
	there := []metav1.LabelSelectorRequirement{{Key: "kubectl.kubernetes.io/last-applied-configuration", Operator: exists}}
	selector, err := NewAnnotationSelector(nil, there)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(applied) || selector.Matches(made) {
		t.Errorf("selected are what kubectl has applied: %v, and what it has not: %v", selector.Matches(applied), selector.Matches(made))
	}
}
