// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAServerWhoseStorageIsFullSaysSoAndServesReads(t *testing.T) {
	clients := newClientAuthority(t)
	config := serverConfig{dataDir: newDataDir(t), clientCA: clients.file}
	config.options = func(o *Options) { o.Storage.QuotaBytes = 1 }
	server := start(t, config)
	_, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		Create(t.Context(), newController("late"), metav1.CreateOptions{})
	// The alert MetacontrollerWritesFail counts answers with this code.
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "database space exceeded") {
		t.Errorf("creating an object: error %v", err)
	}
	mustGet(t, server.client(t, clients.admin(t)), server.url(compositeControllersPath), http.StatusOK)
	mustGet(t, server.anonymous(t), server.url("/readyz"), http.StatusOK)
}

func TestAServerThatCannotReachItsEtcdEndsAndNamesIt(t *testing.T) {
	socket := "unix://" + filepath.Join(newDataDir(t), "etcd.sock")
	config := serverConfig{dataDir: newDataDir(t), given: []string{"shutdown-delay-duration"}}
	config.options = func(o *Options) { o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{socket} }
	err := launch(t, config).wait(t)
	for _, words := range []string{"etcd", "not ready", socket} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want %q in it", err, words)
		}
	}
}
