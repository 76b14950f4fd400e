// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Hooks choose the namespaces and names of children.
func TestARequestIsNotLedToAnotherPath(t *testing.T) {
	for _, elsewhere := range []string{"..", "../../../api/v1/namespaces/other/services/x/proxy", "a/b", "a%2fb"} {
		for what, send := range map[string]func(*Writer) error{
			"a creation in a namespace": func(w *Writer) error { _, err := w.Create(t.Context(), pods, elsewhere, []byte(`{}`)); return err },
			"an apply in a namespace": func(w *Writer) error {
				_, err := w.Apply(t.Context(), pods, types.NamespacedName{Namespace: elsewhere, Name: "a"}, []byte(`{}`))
				return err
			},
			"a deletion of a name": func(w *Writer) error {
				return w.Delete(t.Context(), pods, types.NamespacedName{Namespace: "default", Name: elsewhere}, "u")
			},
			"a list of a namespace": func(w *Writer) error {
				return w.client.listRequest(pods, elsewhere, metav1.ListOptions{}).Do(t.Context()).Error()
			},
		} {
			t.Run(what+" "+elsewhere, func(t *testing.T) {
				host := newImpersonationHost(t)
				err := send(NewWriter(host.client, 1))
				if _, requests := host.seen(); err == nil || len(requests) > 0 {
					t.Errorf("the error is %v, and the requests are %q", err, requests)
				}
			})
		}
	}
}
