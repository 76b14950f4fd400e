// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// answer is what a handler answers.
type answer struct {
	code        int
	contentType string
	body        string
}

// status returns an answer in the form of the library.
func status(code int, message, details string) answer {
	return answer{code, "application/json", fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":"BadRequest","details":%s,"code":%d}`+"\n", message, details, code)}
}

const (
	asPatch       = `{"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: map[]: unrecognized type: int32","field":"patch"}]}`
	wrongInteger  = `spec.resyncPeriodSeconds: must be an integer, and is the string \"3\"; write it without quotation marks`
	integerCauses = `"causes":[{"reason":"FieldValueInvalid","message":"must be an integer, and is the string \"3\"; write it without quotation marks","field":"spec.resyncPeriodSeconds"}]`
)

func TestExplain(t *testing.T) {
	const wrong = `{"metadata":{"name":"pages"},"spec":{"resyncPeriodSeconds":"3","hoks":{}}}`
	bad := status(http.StatusBadRequest, `CompositeController in version "v1alpha1" cannot be handled as a CompositeController: json: cannot unmarshal`, "null")
	explained := func(code int, reason, name string) answer {
		return answer{code, "application/json", fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
			`"message":"CompositeController.metacontroller.k8s.io \"%s\" is invalid: %s","reason":"%s",`+
			`"details":{"name":"%s","group":"metacontroller.k8s.io","kind":"CompositeController",%s},"code":%d}`+"\n", name, wrongInteger, reason, name, integerCauses, code)}
	}
	for name, test := range map[string]struct {
		info        request.RequestInfo
		contentType string
		body        string
		answer      answer
		want        answer
	}{
		"a new object": {
			info: request.RequestInfo{Verb: "create"}, body: wrong, answer: bad, want: explained(400, "BadRequest", "pages"),
		},
		"an apply patch": {
			info: request.RequestInfo{Verb: "patch", Name: "pages"}, contentType: "application/apply-patch+yaml", body: `spec: {resyncPeriodSeconds: "3"}`,
			answer: status(http.StatusInternalServerError, "failed to create typed patch object (/pages): .spec", "null"), want: explained(422, "Invalid", "pages"),
		},
		"a strategic merge patch": {
			info: request.RequestInfo{Verb: "patch", Name: "pages"}, contentType: "application/strategic-merge-patch+json", body: wrong,
			answer: status(422, "patch", asPatch), want: explained(422, "Invalid", "pages"),
		},
		"a JSON patch": {
			info: request.RequestInfo{Verb: "patch", Name: "pages"}, contentType: "application/json-patch+json; charset=utf-8",
			body:   `[{"op":"add","path":"/spec/resyncPeriodSeconds","value":"3"}]`,
			answer: status(422, "patch", asPatch), want: explained(422, "Invalid", "pages"),
		},
		"a JSON patch of a field that is not there": {
			info: request.RequestInfo{Verb: "patch", Name: "pages"}, contentType: "application/json-patch+json",
			body:   `[{"op":"add","path":"/spec/resyncPeriodSeconds","value":"3"}]`,
			answer: status(422, "the server rejected our request due to an error in our request", "{}"), want: explained(422, "Invalid", "pages"),
		},
		"an object that validation refuses": {
			info: request.RequestInfo{Verb: "create"}, body: wrong,
			answer: status(422, "invalid", `{"causes":[{"field":"spec.hooks"}]}`), want: status(422, "invalid", `{"causes":[{"field":"spec.hooks"}]}`),
		},
		"another bad request":                 {info: request.RequestInfo{Verb: "create"}, body: wrong, answer: status(400, "no name", "null"), want: status(400, "no name", "null")},
		"a failure":                           {info: request.RequestInfo{Verb: "create"}, body: wrong, answer: status(500, "etcd is gone", "null"), want: status(500, "etcd is gone", "null")},
		"an object in which nothing is found": {info: request.RequestInfo{Verb: "create"}, body: `{}`, answer: bad, want: bad},
		"an answer in YAML": {
			info: request.RequestInfo{Verb: "create"}, body: wrong,
			answer: answer{400, "application/yaml", "message: x"}, want: answer{400, "application/yaml", "message: x"},
		},
		"an answer that is no status": {
			info: request.RequestInfo{Verb: "create"}, body: wrong, answer: answer{500, "application/json", "oops"}, want: answer{500, "application/json", "oops"},
		},
		"an object that is stored": {
			info: request.RequestInfo{Verb: "create"}, body: wrong, answer: answer{201, "application/json", wrong}, want: answer{201, "application/json", wrong},
		},
		"a list":           {info: request.RequestInfo{Verb: "list"}, answer: bad, want: bad},
		"another resource": {info: request.RequestInfo{Verb: "create", Resource: "others"}, body: wrong, answer: bad, want: bad},
	} {
		t.Run(name, func(t *testing.T) {
			if test.info.Resource == "" {
				test.info.Resource = "compositecontrollers"
			}
			test.info.APIGroup = "metacontroller.k8s.io"
			read := ""
			handler := Explain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				read = string(body)
				w.Header().Set("Content-Type", test.answer.contentType)
				w.WriteHeader(test.answer.code)
				_, _ = io.WriteString(w, test.answer.body[:len(test.answer.body)/2])
				_, _ = io.WriteString(w, test.answer.body[len(test.answer.body)/2:])
			}))
			asked := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
			asked.Header.Set("Content-Type", test.contentType)
			recorded := httptest.NewRecorder()
			handler.ServeHTTP(recorded, asked.WithContext(request.WithRequestInfo(t.Context(), &test.info)))
			got := answer{recorded.Code, recorded.Header().Get("Content-Type"), recorded.Body.String()}
			if diff := cmp.Diff(fmt.Sprint(test.want), fmt.Sprint(got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if read != test.body {
				t.Errorf("the handler has read %q", read)
			}
		})
	}
}

func TestOfManyMistakesTheFirstAreNamed(t *testing.T) {
	refused := refusal{kind: kinds()["compositecontrollers"], name: "pages", isPatch: true}
	refused.body.WriteString(`{"spec":{` + strings.Repeat(`"a":1,`, 3))
	for i := range 15 {
		fmt.Fprintf(&refused.body, `"no%d":1,`, i)
	}
	refused.body.WriteString(`"b":1}}`)
	code, body := refused.explain(500, []byte(status(500, "failed to create typed patch object : field not declared in schema", "null").body))
	if text := string(body); code != 422 || !strings.Contains(text, "; and 7 more") || strings.Count(text, `"reason":"FieldValueInvalid"`) != 10 {
		t.Errorf("%d %s", code, text)
	}
}
