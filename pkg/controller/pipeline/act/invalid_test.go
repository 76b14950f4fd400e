// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhatTheHostFindsInvalid(t *testing.T) {
	path := func(text string) *field.Path {
		names := strings.Split(text, ".")
		return field.NewPath(names[0], names[1:]...)
	}
	wrongType := func(at, of string, found any) *field.Error {
		return field.TypeInvalid(path(at), found, fmt.Sprintf("%s in body must be of type %s: %q", at[strings.LastIndex(at, ".")+1:], of, found))
	}
	const (
		keepIt   = "; answer its old value; or"
		replaced = ", to have the child replaced, set spec.childResources[0].updateStrategy.method of the controller to Recreate, or answer a child of another name"
	)
	create, update, status := pipeline.Create, pipeline.Update, pipeline.Status
	for name, test := range map[string]struct {
		op   pipeline.Op
		body string
		errs field.ErrorList
		want string
	}{
		"a text in place of a number": {
			status, `{"status":{"replicas":"three"}}`, field.ErrorList{wrongType("status.replicas", "integer", "string")},
			`the hook's answer sets status.replicas to a string, but it must be a whole number`,
		},
		"a number in quotes": {
			status, `{"status":{"replicas":"3"}}`, field.ErrorList{wrongType("status.replicas", "integer", "string")},
			`the hook's answer sets status.replicas to a string, but it must be a whole number (write it without quotes)`,
		},
		"a list in place of an object": {
			status, `{"status":{"shop":[]}}`, field.ErrorList{wrongType("status.shop", "object", "array")},
			`the hook's answer sets status.shop to a list, but it must be an object`,
		},
		"a field that cannot be changed": {
			update, `{}`, field.ErrorList{field.Invalid(path("spec.selector"), map[string]any{"a": strings.Repeat("x", 1000)}, "field is immutable")},
			"its field spec.selector cannot be changed" + keepIt + replaced,
		},
		"fields that cannot be changed": {
			update, `{}`, field.ErrorList{
				field.Required(path("spec.x"), ""),
				field.Invalid(path("spec.clusterIPs").Index(0), []string{"None"}, "may not change once set"),
				field.Invalid(path("spec.y"), "a", "field is immutable"),
			},
			"its fields spec.clusterIPs[0], spec.y cannot be changed; answer their old values; or" + replaced + "; spec.x: Required value",
		},
		"a field that the cluster keeps in a list, too": {
			update, `{"spec":{"clusterIP":"None"}}`,
			field.ErrorList{field.Invalid(path("spec.clusterIPs").Index(0), []string{"None"}, "may not change once set")},
			"its field spec.clusterIP cannot be changed; leave it out of the answer, or answer its old value; or" + replaced,
		},
		"a field that the cluster keeps in a list, which is in the merged child, too": {
			update, `{"spec":{"clusterIP":"None","clusterIPs":["10.0.0.7"]}}`,
			field.ErrorList{field.Invalid(path("spec.clusterIPs").Index(0), []string{"None"}, "may not change once set")},
			"its field spec.clusterIP cannot be changed; leave it out of the answer, or answer its old value; or" + replaced,
		},
		"a field beside a list that the hook changes": {
			update, `{"spec":{"clusterIP":"None","clusterIPs":["None"]}}`,
			field.ErrorList{field.Invalid(path("spec.clusterIPs").Index(0), []string{"None"}, "may not change once set")},
			"its field spec.clusterIPs[0] cannot be changed; leave it out of the answer, or answer its old value; or" + replaced,
		},
		"a list that cannot be changed": {
			update, `{"spec":{"clusterIPs":["None"]}}`,
			field.ErrorList{field.Invalid(path("spec.clusterIPs").Index(0), []string{"None"}, "may not change once set")},
			"its field spec.clusterIPs[0] cannot be changed; leave it out of the answer, or answer its old value; or" + replaced,
		},
		"most fields of a StatefulSet": {
			update, `{}`, field.ErrorList{field.Forbidden(path("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals' and 'template' are forbidden")},
			"its field spec (except 'replicas', 'ordinals' and 'template') cannot be changed; answer the old values of the rest; or" + replaced,
		},
		"most fields of a Pod": {
			update, `{}`, field.ErrorList{field.Forbidden(path("spec"), "pod updates may not change fields other than `spec.tolerations`\n  core.PodSpec{\n- \tVolumes: nil,\n")},
			"its field spec (except `spec.tolerations`) cannot be changed; answer the old values of the rest; or" + replaced,
		},
		"data of an immutable ConfigMap": {
			update, `{}`, field.ErrorList{field.Forbidden(path("data"), "field is immutable when `immutable` is set")},
			"its field data cannot be changed" + keepIt + replaced,
		},
		"a field of the parent that cannot be changed": {
			pipeline.Metadata, `{}`, field.ErrorList{field.Invalid(path("metadata.x"), "a", "field is immutable")}, "its field metadata.x cannot be changed",
		},
		"the value of a label": {
			create, `{"metadata":{"labels":{"app":"shop","tier":"very good"}}}`,
			field.ErrorList{field.Invalid(path("metadata.labels"), "very good", validation.IsValidLabelValue("very good")[0])},
			`the hook's answer sets the label tier to "very good": its value may have letters, digits, "-", "_" and ".", and must begin and end with a letter or a digit`,
		},
		"what the host says again and again": {
			create, `{"metadata":{"labels":{"tier":"very good"}}}`,
			field.ErrorList{
				field.Invalid(path("metadata.labels"), "very good", validation.IsValidLabelValue("very good")[0]),
				field.Invalid(path("metadata.labels"), "very good", validation.IsValidLabelValue("very good")[0]),
			},
			`the hook's answer sets the label tier to "very good": its value may have letters, digits, "-", "_" and ".", and must begin and end with a letter or a digit`,
		},
		"the value of a label of a template": {
			create, `{"spec":{"template":{"metadata":{"labels":{"tier":"very good"}}}}}`,
			field.ErrorList{field.Invalid(path("spec.template.labels"), "very good", validation.IsValidLabelValue("very good")[0])},
			`the hook's answer sets the label tier in spec.template.labels to "very good": its value may have letters, digits, "-", "_" and ".", and must begin and end with a letter or a digit`,
		},
		"a label that is too long": {
			create, `{"metadata":{"labels":{"tier":"` + strings.Repeat("a", 64) + `"}}}`,
			field.ErrorList{field.Invalid(path("metadata.labels"), strings.Repeat("a", 64), validation.IsValidLabelValue(strings.Repeat("a", 64))[0])},
			`the hook's answer sets the label tier to "` + strings.Repeat("a", 64) + `": it may have 63 characters at most`,
		},
		"the name of a label": {
			create, `{"metadata":{"labels":{"my tier":"good"}}}`,
			field.ErrorList{field.Invalid(path("metadata.labels"), "my tier", validation.IsQualifiedName("my tier")[0])},
			`the hook's answer sets a label "my tier": its name may have letters, digits, "-", "_" and ".", and must begin and end with a letter or a digit`,
		},
		"the name of an annotation": {
			create, `{"metadata":{"annotations":{"My/tier":"good"}}}`,
			field.ErrorList{field.Invalid(path("metadata.annotations"), "My/tier", validation.IsQualifiedName("My/tier")[0])},
			`the hook's answer sets an annotation "My/tier": what is before the "/" in its name may have lower-case letters, digits, "-" and ".", and must begin and end with a letter or a digit`,
		},
		"a name": {
			create, `{}`, field.ErrorList{field.Invalid(path("metadata.name"), "Shop_1", validation.IsDNS1123Subdomain("Shop_1")[0])},
			`the hook's answer sets metadata.name to "Shop_1": it may have lower-case letters, digits, "-" and ".", and must begin and end with a letter or a digit`,
		},
		"the name of a Service": {
			create, `{}`, field.ErrorList{field.Invalid(path("metadata.name"), "1a", validation.IsDNS1035Label("1a")[0])},
			`the hook's answer sets metadata.name to "1a": it may have lower-case letters, digits and "-", and must begin with a letter and end with a letter or a digit`,
		},
		"a long value": {
			create, `{}`, field.ErrorList{field.Invalid(path("spec.x"), strings.Repeat("x", 1000), "is wrong")},
			`spec.x: Invalid value: "` + strings.Repeat("x", 99) + `…: is wrong`,
		},
		"what is plain stays": {
			create, `{}`, field.ErrorList{field.Required(path("spec.x"), "say it")}, `Service "shop" is invalid: spec.x: Required value: say it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			step := &pipeline.Step{Op: test.op, Type: object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Kind: "Service"}, Body: []byte(test.body)}
			if !test.op.OnParent() {
				step.MethodField = "spec.childResources[0].updateStrategy.method"
			}
			if test.op != create {
				step.Observed = parsed(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"shop","namespace":"default","uid":"u","resourceVersion":"1"},"spec":{"clusterIPs":["10.0.0.7"]}}`)
			}
			err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "shop", test.errs)
			got := explainInvalid(fmt.Errorf("it was not deleted: %w", err), step)
			if want := "it was not deleted: " + test.want; got.Error() != want {
				t.Errorf("it says\n%s\nwant\n%s", got, want)
			}
			if !errors.Is(got, err) {
				t.Error("it is another error")
			}
		})
	}
}

func TestAChildThatIsRolledOutIsToBeReplacedByARollout(t *testing.T) {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "shop", field.ErrorList{field.Invalid(field.NewPath("spec"), "a", "field is immutable")})
	step := &pipeline.Step{Op: pipeline.Update, Observed: &object.Object{}, Body: []byte("{}"), MethodField: "spec.childResources[1].updateStrategy.method", Rolls: true}
	const want = "set spec.childResources[1].updateStrategy.method of the controller to RollingRecreate, or"
	if got := explainInvalid(err, step).Error(); !strings.Contains(got, want) {
		t.Errorf("it says %s", got)
	}
}

func TestOtherErrorsAreNotExplained(t *testing.T) {
	for name, err := range map[string]error{
		"no status":  errors.New("field is immutable"),
		"a conflict": apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("field is immutable")),
		"no details": &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422}},
	} {
		if got := explainInvalid(err, &pipeline.Step{Body: []byte("{}")}); got != err { //nolint:errorlint // It is the same.
			t.Errorf("%s becomes %v", name, got)
		}
	}
}
