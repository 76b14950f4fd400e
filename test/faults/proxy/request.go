// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Request is one request of a process.
type Request struct {
	request.RequestInfo
	// Own is true if the request is to our API and not to the host.
	Own bool
	// DryRun is true if the request changes nothing.
	DryRun bool
	// Write is the number of the write, from 1 on; zero if the request is no write that counts.
	Write int
}

var infos = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func read(r *http.Request, own bool) (Request, error) {
	info, err := infos.NewRequestInfo(r)
	if err != nil {
		return Request{}, fmt.Errorf("read the request %s %s: %w", r.Method, r.URL, err)
	}
	return Request{RequestInfo: *info, Own: own, DryRun: r.URL.Query().Has("dryRun")}, nil
}

// Counts reports whether a request is a write in the sense of the tests: one that changes a parent,
// a child or a ControllerRevision. The others come at times of their own: events, leases, reviews,
// dry runs, and what a process writes about its controllers.
func (r Request) Counts() bool {
	other := []string{"events", "leases", "compositecontrollers", "decoratorcontrollers", "subjectaccessreviews", "selfsubjectaccessreviews"}
	return r.IsResourceRequest && !r.DryRun && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) && !slices.Contains(other, r.Resource)
}

// Is reports whether the request is about one of these resources, such as "configmaps".
func (r Request) Is(resources ...string) bool {
	return r.IsResourceRequest && slices.Contains(resources, r.Resource)
}

func (r Request) String() string {
	words := []string{r.Verb}
	if r.IsResourceRequest {
		words = append(words, strings.Trim(r.Resource+"/"+r.Subresource, "/"), strings.Trim(r.Namespace+"/"+r.Name, "/"))
	} else {
		words = append(words, r.Path)
	}
	if r.DryRun {
		words = append(words, "(dry run)")
	}
	if r.Write > 0 {
		words = append(words, fmt.Sprintf("(write %d)", r.Write))
	}
	return strings.Join(words, " ")
}
