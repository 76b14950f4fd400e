// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// explainInvalid returns the error of a write that the host found invalid in words for the author of the
// hook: which field of the answer is wrong, and what to do. All other errors stay as they are.
func explainInvalid(err error, step *pipeline.Step) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(status) || status.ErrStatus.Details == nil {
		return err
	}
	e := explanation{step: step}
	if utiljson.Unmarshal(step.Body, &e.body) != nil {
		return err
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		e.add(cause)
	}
	if !e.explains {
		return err
	}
	return &plainError{text: strings.Replace(err.Error(), status.Error(), e.text(), 1), err: err}
}

// explanation says what is wrong with an object.
type explanation struct {
	step *pipeline.Step
	body map[string]any
	// fixed are the fields that cannot be changed; mistakes are about the others.
	fixed, mistakes []string
	// explains is true if something is said in other words than those of the host.
	explains bool
}

func (e *explanation) add(cause metav1.StatusCause) {
	value, message := cutValue(cause.Message)
	message, _, _ = strings.Cut(message, "\n") // a comparison may follow
	if isFixed.MatchString(message) && e.step.Observed != nil {
		e.fixed, e.explains = appendNew(e.fixed, e.answered(cause.Field)+exceptions(message)), true
		return
	}
	said := ""
	switch wrongType := notOfType.FindStringSubmatch(message); {
	case wrongType != nil:
		said = fmt.Sprintf("the hook's answer sets %s to %s, but it must be %s%s",
			cause.Field, wordOfSchemaType(wrongType[2]), wordOfSchemaType(wrongType[1]), e.withoutQuotes(cause.Field, wrongType[1], wrongType[2]))
	case allowed(message) != "":
		said = fmt.Sprintf("the hook's answer sets %s: %s", e.what(cause.Field, value), allowed(message))
	case len(value) > maxValue:
		said = fmt.Sprintf("%s: Invalid value: %s…: %s", cause.Field, strings.ToValidUTF8(value[:maxValue], ""), message)
	}
	e.explains = e.explains || said != ""
	if said == "" {
		said = cause.Field + ": " + cause.Message
	}
	e.mistakes = appendNew(e.mistakes, said)
}

// appendNew appends a text unless it is there: API servers say the same of each place that they look at.
func appendNew(said []string, text string) []string {
	if slices.Contains(said, text) {
		return said
	}
	return append(said, text)
}

// answered returns the field that the answer has, if the host names a list that it keeps beside it: it
// says spec.clusterIPs[0] of spec.clusterIP. The body may have the list as it was observed.
func (e *explanation) answered(field string) string {
	single, isFirst := strings.CutSuffix(field, "s[0]")
	if !isFirst || e.at(single) == nil {
		return field
	}
	list := strings.TrimSuffix(field, "[0]")
	var observed any
	if raw := e.step.Observed.Lookup(strings.Split(list, ".")...); raw != nil && utiljson.Unmarshal(raw, &observed) != nil {
		return field
	}
	if now := e.at(list); now != nil && !reflect.DeepEqual(now, observed) {
		return field
	}
	return single
}

// at returns the value at a path without indexes; nil if there is none.
func (e *explanation) at(path string) any {
	var at any = e.body
	for name := range strings.SplitSeq(path, ".") {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	return at
}

// text says first what cannot be changed, since the remedy for that is another one.
func (e *explanation) text() string {
	said := e.mistakes
	if len(e.fixed) > 0 {
		of, keep := fmt.Sprintf("its field %s cannot be changed", e.fixed[0]), "answer its old value"
		if len(e.fixed) > 1 {
			of, keep = fmt.Sprintf("its fields %s cannot be changed", strings.Join(e.fixed, ", ")), "answer their old values"
		}
		switch {
		case len(e.fixed) == 1 && allocated[e.fixed[0]]:
			keep = "leave it out of the answer, or answer its old value"
		case strings.Contains(of, "(except "):
			keep = "answer the old values of the rest"
		}
		if e.step.MethodField != "" {
			of += fmt.Sprintf("; %s; or, to have the child replaced, set %s of the controller to %s, or answer a child of another name", keep, e.step.MethodField, e.replacing())
		}
		said = append([]string{of}, said...)
	}
	return strings.Join(said, "; ")
}

// replacing returns the update method with which the child is replaced, and rolled out as now.
func (e *explanation) replacing() string {
	if e.step.Rolls {
		return "RollingRecreate"
	}
	return "Recreate"
}

// what names what the answer sets, such as `the label tier to "x"`.
func (e *explanation) what(field, value string) string {
	text, err := strconv.Unquote(value)
	if err != nil {
		return field + " to " + value
	}
	names := strings.Split(field, ".")
	kind := map[string]string{"labels": "label", "matchLabels": "label", "nodeSelector": "label", "annotations": "annotation"}[names[len(names)-1]]
	if kind == "" {
		return field + " to " + value
	}
	where := ""
	if names[0] != "metadata" {
		where = " in " + field
	}
	for name, candidate := range e.texts(names) {
		if candidate == text {
			return fmt.Sprintf("the %s %s%s to %s", kind, name, where, value)
		}
	}
	return fmt.Sprintf("%s %s %s%s", article(kind), kind, value, where)
}

func article(noun string) string {
	if strings.HasPrefix(noun, "a") {
		return "an"
	}
	return "a"
}

// texts returns the map at a path. API servers leave out the metadata of a template in paths.
func (e *explanation) texts(path []string) map[string]any {
	var at any = e.body
	for _, name := range path {
		object, _ := at.(map[string]any)
		below, found := object[name]
		if metadata, ok := object["metadata"].(map[string]any); !found && ok {
			below = metadata[name]
		}
		at = below
	}
	texts, _ := at.(map[string]any)
	return texts
}

// withoutQuotes is the advice about a number or a boolean in quotes; empty if the value is none.
func (e *explanation) withoutQuotes(field, expected, found string) string {
	if found != "string" || expected != "integer" && expected != "number" && expected != "boolean" {
		return ""
	}
	text, _ := e.at(field).(string)
	_, notNumber := strconv.ParseFloat(text, 64)
	_, notBoolean := strconv.ParseBool(text)
	if expected == "boolean" && notBoolean == nil || expected != "boolean" && notNumber == nil {
		return " (write it without quotes)"
	}
	return ""
}

// allocated are fields that the cluster fills and keeps if an answer leaves them out.
var allocated = map[string]bool{"spec.clusterIP": true, "spec.clusterIPs": true, "spec.clusterIPs[0]": true, "spec.healthCheckNodePort": true}

// maxValue is how much of a value is shown.
const maxValue = 100

var (
	// isFixed is what API servers say of a field that may not change.
	isFixed = regexp.MustCompile(`\bimmutable\b|may not change once set|updates may not change fields other than|^Forbidden: updates to \w+ spec for fields other than`)
	// except is how they go on if only a part of it may not change.
	except = regexp.MustCompile(` (?:except|other than) (.+?)(?:,? are forbidden)?$`)
	// notOfType is what the host says of a value that has another type than in a CustomResourceDefinition.
	notOfType = regexp.MustCompile(`in body must be of type (\w+): "(\w+)"$`)
)

// exceptions says which parts of a field can be changed although the others cannot; empty if none can.
func exceptions(message string) string {
	if found := except.FindStringSubmatch(message); found != nil {
		return " (except " + found[1] + ")"
	}
	return ""
}

// cutValue cuts the value out of what the host says of an invalid one.
func cutValue(said string) (value, message string) {
	rest, ok := strings.CutPrefix(said, "Invalid value: ")
	if !ok {
		return "", said
	}
	decoder := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	if decoder.Decode(&raw) == nil {
		if message, ok := strings.CutPrefix(rest[decoder.InputOffset():], ": "); ok {
			return string(raw), message
		}
	}
	return "", said
}

// characters are the rules for names and labels, by how API servers begin to tell them. They go on with a
// regular expression.
var characters = []struct{ said, rule string }{
	{"a valid label must be an empty string or consist of", "its value may have letters, digits, \"-\", \"_\" and \".\", and must begin and end with a letter or a digit"},
	{"name part must consist of", "its name may have letters, digits, \"-\", \"_\" and \".\", and must begin and end with a letter or a digit"},
	{"prefix part a lowercase RFC 1123 subdomain must consist of", "what is before the \"/\" in its name may have lower-case letters, digits, \"-\" and \".\", and must begin and end with a letter or a digit"},
	{"a lowercase RFC 1123 subdomain must consist of", "it may have lower-case letters, digits, \"-\" and \".\", and must begin and end with a letter or a digit"},
	{"a lowercase RFC 1123 label must consist of", "it may have lower-case letters, digits and \"-\", and must begin and end with a letter or a digit"},
	{"a DNS-1035 label must consist of", "it may have lower-case letters, digits and \"-\", and must begin with a letter and end with a letter or a digit"},
	{"must be no more than 63 ", "it may have 63 characters at most"},
	{"must be no more than 253 ", "it may have 253 characters at most"},
}

// allowed returns which characters a name or a label may have, if the host says that; empty if it says
// something else.
func allowed(message string) string {
	for _, rule := range characters {
		if strings.HasPrefix(message, rule.said) {
			return rule.rule
		}
	}
	return ""
}

// wordOfSchemaType returns the word for a type of a schema.
func wordOfSchemaType(name string) string {
	word := map[string]string{"string": aString, "integer": aWholeNumber, "number": aNumber, "boolean": aBoolean, "array": aList, "object": anObject}[name]
	if word == "" {
		return name
	}
	return word
}
