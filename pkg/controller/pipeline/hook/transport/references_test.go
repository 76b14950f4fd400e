// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// recorder notes which Secrets and ConfigMaps are read.
type recorder struct{ read []Source }

func (r *recorder) Follow(_ context.Context, of object.Type, name types.NamespacedName, changed func(*object.Object)) (stop func(), err error) {
	r.read = append(r.read, Source{of, name})
	changed(nil)
	return func() {}, nil
}

// What References names is what a transport reads.
func TestReferencesAreWhatIsRead(t *testing.T) {
	key := &v1alpha1.ResourceKeyRef{Namespace: "keys", Name: "one"}
	for name, of := range map[string]settings{
		"authorities in a Secret":    {caBundle: &v1alpha1.CABundle{SecretRef: key}},
		"authorities in a ConfigMap": {caBundle: &v1alpha1.CABundle{ConfigMapRef: key}},
		"a client certificate":       {clientTLS: &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: "one"}}},
		"a token":                    {authorization: &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Namespace: "keys", Name: "one", Key: "token"}}},
		"a password":                 {basicAuth: &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: "one"}}},
	} {
		t.Run(name, func(t *testing.T) {
			of.path = "spec.hooks.sync.webhook"
			sources := &recorder{}
			transport := newTransport(of, Options{Sources: sources})
			defer transport.Close()
			unusable, ok := errors.AsType[*SourceError](transport.Open(t.Context(), func(error) {}))
			references := of.references()
			if !ok || len(references) != 1 || len(sources.read) != 1 {
				t.Fatalf("named are %v, read is %v", references, sources.read)
			}
			if references[0].Source != sources.read[0] || references[0].Field != unusable.Field {
				t.Errorf("named is %+v, read is %+v for %s", references[0], sources.read[0], unusable.Field)
			}
		})
	}
}
