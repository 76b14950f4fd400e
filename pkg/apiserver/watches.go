// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// endWatches ends the watches of the API when the host finds it elsewhere: at the CustomResourceDefinitions, after
// a migration back to them. The host would leave them connected to this server, and their clients would not notice for up to an
// hour that the objects are changed elsewhere. The watches of this server itself go on.
func endWatches(next http.Handler, leading func() context.Context) http.Handler {
	if leading == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, found := request.RequestInfoFrom(r.Context())
		who, known := request.UserFrom(r.Context())
		if !found || info.Verb != "watch" || info.APIGroup != v1alpha1.GroupName || known && who.GetName() == user.APIServerUser {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(leading(), cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
