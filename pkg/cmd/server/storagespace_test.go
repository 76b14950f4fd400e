// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestAServerWhoseStorageIsFullSaysSoAndServesReads(t *testing.T) {
	tests := map[string]struct {
		quota  int64
		status int
		says   string
	}{
		"with room":    {0, http.StatusOK, "ok"},
		"without room": {1, http.StatusServiceUnavailable, "storage is full"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clients := newClientAuthority(t)
			server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file, options: func(o *Options) { o.Storage.QuotaBytes = test.quota }})
			admin := server.client(t, clients.admin(t))
			controllers := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().ControllerRevisions("default")
			_, err := controllers.Create(t.Context(), &v1alpha1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Name: "one"}, ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
			}, metav1.CreateOptions{})
			if (err != nil) != (test.status != http.StatusOK) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("creating an object: error %v", err)
			}
			body, _ := mustGet(t, admin, server.url(storageSpacePath), test.status)
			if !strings.Contains(body, test.says) {
				t.Errorf("%s answers %q, want %q", storageSpacePath, body, test.says)
			}
			mustGet(t, admin, server.url(compositeControllersPath), http.StatusOK)
			mustGet(t, server.anonymous(t), server.url("/readyz"), http.StatusOK)
		})
	}
}
