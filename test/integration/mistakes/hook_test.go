// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// answer is what a hook does when it is called.
type answer struct {
	JSON object
	// Text is answered as it is.
	Text string
	// Status is that of HTTP; 0 is 200.
	Status int
	// Header are headers of HTTP.
	Header map[string]string
	// Close closes the connection without an answer. Hang never answers.
	Close, Hang bool
}

// handler returns a hook with these answers. Other paths are answered 404. There are two more words:
//
//	$RANDOM  something else in each answer
//	$TAG     spec.tag of the parent
func handler(answers map[string]answer, text func(string) string) hook.Handler {
	return func(ctx context.Context, call hook.Call) hook.Answer {
		given, found := answers[call.Path]
		switch {
		case !found:
			return hook.Text(http.StatusNotFound, "404 page not found")
		case given.Close:
			panic(http.ErrAbortHandler)
		case given.Hang:
			<-ctx.Done()
			return hook.Answer{}
		}
		body := given.Text
		if given.JSON != nil {
			document, err := json.Marshal(given.JSON)
			if err != nil {
				return hook.Text(http.StatusInternalServerError, err.Error())
			}
			body = string(document)
		}
		var asked hook.CompositeRequest
		if err := call.Decode(&asked); err != nil {
			return hook.Text(http.StatusBadRequest, err.Error())
		}
		tag, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "tag")
		body = strings.NewReplacer("$RANDOM", harness.Name("random"), "$TAG", tag).Replace(text(body))
		header := http.Header{"Content-Type": {"application/json"}}
		for name, value := range given.Header {
			header.Set(name, value)
		}
		return hook.Answer{Status: cmp.Or(given.Status, http.StatusOK), Header: header, Body: []byte(body)}
	}
}
