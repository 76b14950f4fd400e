// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// refusal is a request that was refused.
type refusal struct {
	kind kind
	// name is the name of the object; empty if it is only in the body.
	name        string
	isPatch     bool
	contentType string
	body        bytes.Buffer
}

// mostMistakes is how many fields one answer names.
const mostMistakes = 10

// explain returns the status and the body of the answer: those given, or others if the answer is about
// fields that cannot be read.
func (r *refusal) explain(code int, answer []byte) (int, []byte) {
	var status metav1.Status
	if err := json.Unmarshal(answer, &status); err != nil || !isUnreadable(&status) {
		return code, answer
	}
	mistakes := r.mistakes(&status)
	if len(mistakes) == 0 {
		return code, answer
	}
	r.rewrite(&status, mistakes)
	explained, err := json.Marshal(status)
	if err != nil {
		return code, answer
	}
	return int(status.Code), append(explained, '\n')
}

// isUnreadable reports whether an answer is about an object that cannot be read. The texts are those
// of k8s.io/apiserver.
func isUnreadable(status *metav1.Status) bool {
	switch status.Code {
	case http.StatusBadRequest:
		return strings.Contains(status.Message, " cannot be handled as a ")
	case http.StatusUnprocessableEntity:
		return isMissingPath(status) || status.Details != nil && slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool {
			return cause.Field == "patch"
		})
	}
	return strings.HasPrefix(status.Message, "failed to create typed patch object ")
}

var duplicate = regexp.MustCompile(`duplicate field "([^"]+)"`)

// mistakes returns the mistakes in the body of the request. Unknown fields are among them only if the
// answer is about one: a client may want them to be dropped.
func (r *refusal) mistakes(status *metav1.Status) []Mistake {
	unknown := strings.Contains(status.Message, "unknown field ") || strings.Contains(status.Message, "field not declared in schema") ||
		isMissingPath(status)
	var mistakes []Mistake
	if r.isPatch && mediaType(r.contentType) == string(types.JSONPatchType) {
		mistakes = inPatch(r.kind.of, r.body.Bytes(), unknown)
	} else {
		mistakes = InObject(r.kind.of, r.body.Bytes(), unknown)
	}
	for _, twice := range duplicate.FindAllStringSubmatch(status.Message, -1) {
		mistakes = append(mistakes, Mistake{Field: twice[1], Message: "is there twice"})
	}
	return mistakes
}

// isMissingPath reports whether an answer is that a JSON patch could not be applied.
func isMissingPath(status *metav1.Status) bool {
	return strings.HasPrefix(status.Message, "the server rejected our request due to an error in our request")
}

func mediaType(header string) string {
	of, _, _ := mime.ParseMediaType(header)
	return of
}

// rewrite makes an answer be about mistakes. Of an object that is sent whole, it stays a bad request;
// of a patch, it is an invalid object.
func (r *refusal) rewrite(status *metav1.Status, mistakes []Mistake) {
	name := r.objectName()
	more := ""
	if len(mistakes) > mostMistakes {
		more = fmt.Sprintf("; and %d more", len(mistakes)-mostMistakes)
		if len(mistakes) >= maxMistakes {
			more = "; and many more"
		}
		mistakes = mistakes[:mostMistakes]
	}
	texts, causes := make([]string, len(mistakes)), make([]metav1.StatusCause, len(mistakes))
	for i, mistake := range mistakes {
		texts[i] = mistake.String()
		causes[i] = metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: mistake.Field, Message: mistake.Message}
	}
	status.Details = &metav1.StatusDetails{Group: metacontroller.GroupName, Kind: r.kind.name, Name: name, Causes: causes}
	status.Message = fmt.Sprintf("%s.%s %q is invalid: %s%s", r.kind.name, metacontroller.GroupName, name, strings.Join(texts, "; "), more)
	if status.Code != http.StatusBadRequest {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
}

// objectName returns the name of the object, "" if it has none.
func (r *refusal) objectName() string {
	if r.name != "" {
		return r.name
	}
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if !decode(r.body.Bytes(), &object) {
		return ""
	}
	return object.Metadata.Name
}
