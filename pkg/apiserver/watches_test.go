// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func TestWatchesEndWhenTheHostFindsTheAPIElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		info request.RequestInfo
		user string
		ends bool
	}{
		"a watch of the API":        {request.RequestInfo{Verb: "watch", APIGroup: "metacontroller.k8s.io"}, "somebody", true},
		"a watch of the server":     {request.RequestInfo{Verb: "watch", APIGroup: "metacontroller.k8s.io"}, user.APIServerUser, false},
		"a watch of another group":  {request.RequestInfo{Verb: "watch", APIGroup: "apps"}, "somebody", false},
		"another request":           {request.RequestInfo{Verb: "list", APIGroup: "metacontroller.k8s.io"}, "somebody", false},
		"a request without a group": {request.RequestInfo{Verb: "get"}, "somebody", false},
	} {
		t.Run(name, func(t *testing.T) {
			leading, moved := context.WithCancel(t.Context())
			handler := endWatches(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Context().Err() != nil {
					t.Error("it ends before the host finds the API elsewhere")
				}
				moved()
				if !test.ends {
					if r.Context().Err() != nil {
						t.Error("it ends")
					}
					return
				}
				<-r.Context().Done()
			}), func() context.Context { return leading })
			ctx := request.WithRequestInfo(request.WithUser(t.Context(), &user.DefaultInfo{Name: test.user}), &test.info)
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		})
	}
}
