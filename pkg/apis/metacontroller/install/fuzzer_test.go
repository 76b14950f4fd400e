// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// fuzzFuncs returns the fuzz functions for the types. They never leave a field empty that the
// API defaults, because an empty value would not survive a round trip.
func fuzzFuncs(serializer.CodecFactory) []any {
	return []any{
		func(extension *runtime.RawExtension, c randfill.Continue) {
			*extension = runtime.RawExtension{Raw: fmt.Appendf(nil, `{"replicas":%d}`, c.Intn(100))}
		},
		func(value *v1alpha1.JSONValue, c randfill.Continue) {
			*value = v1alpha1.JSONValue{Raw: fmt.Appendf(nil, `[%d,"a",true]`, c.Intn(100))}
		},
		func(spec *v1alpha1.SyncReviewSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			fillEmpty(c, (*string)(&spec.Calls))
			fillEmpty(c, (*string)(&spec.Until))
			fillEmpty(c, (*string)(&spec.Details))
			fillNil(c, &spec.TimeoutSeconds)
		},
		func(parents *v1alpha1.SyncReviewParents, c randfill.Continue) {
			c.FillNoCustom(parents)
			fillNil(c, &parents.Limit)
		},
		func(hook *v1alpha1.Hook, c randfill.Continue) {
			c.FillNoCustom(hook)
			if hook.Version == nil {
				version := v1alpha1.HookVersionV2
				hook.Version = &version
			}
		},
		func(ref *v1alpha1.ResourceKeyRef, c randfill.Continue) {
			c.FillNoCustom(ref)
			fillNil(c, &ref.Key)
		},
		func(tls *v1alpha1.ClientTLS, c randfill.Continue) {
			c.FillNoCustom(tls)
			fillNil(c, &tls.CertKey)
			fillNil(c, &tls.PrivateKeyKey)
		},
		func(authorization *v1alpha1.Authorization, c randfill.Continue) {
			c.FillNoCustom(authorization)
			fillNil(c, &authorization.Type)
		},
		func(auth *v1alpha1.BasicAuth, c randfill.Continue) {
			c.FillNoCustom(auth)
			fillNil(c, &auth.UsernameKey)
			fillNil(c, &auth.PasswordKey)
		},
	}
}

func fillNil[T any](c randfill.Continue, field **T) {
	if *field == nil {
		*field = new(T)
		c.Fill(*field)
	}
}

func fillEmpty(c randfill.Continue, text *string) {
	for *text == "" {
		c.Fill(text)
	}
}
