// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestPlainListenersServeWhatTheyAreForAndNothingElse(t *testing.T) {
	metrics, health, profiles := freeAddress(t), freeAddress(t), freeAddress(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), options: func(o *Options) {
		*o.PlainHTTP = PlainHTTPOptions{Metrics: metrics, Health: health, Profiles: profiles}
		o.Recommended.Features.EnableProfiling = false
	}})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	body, _ := mustGet(t, client, "http://"+metrics+"/metrics", http.StatusOK)
	if !strings.Contains(body, "apiserver_request_total") || !strings.Contains(body, "etcd_mvcc_db_total_size_in_bytes") {
		t.Errorf("the plain listener shows other metrics than the secure one:\n%.500s", body)
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz/etcd"} {
		mustGet(t, client, "http://"+health+path, http.StatusOK)
	}
	body, _ = mustGet(t, client, "http://"+profiles+"/debug/pprof/goroutine?debug=1", http.StatusOK)
	if !strings.Contains(body, "goroutine profile") {
		t.Errorf("this is no profile:\n%.500s", body)
	}
	mustGet(t, client, "http://"+profiles+"/debug/pprof/heap", http.StatusOK)

	for _, url := range []string{
		metrics + "/healthz", metrics + "/apis", health + "/metrics", health + "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers",
		health + "/", profiles + "/metrics", profiles + "/",
	} {
		mustGet(t, client, "http://"+url, http.StatusNotFound)
	}

	if err := server.shutDown(t); err != nil {
		t.Fatalf("Run: %v", err)
	}
	for _, address := range []string{metrics, health, profiles} {
		if _, _, err := get(t, client, "http://"+address+"/", http.StatusNotFound); err == nil {
			t.Errorf("%s is still served after the end", address)
		}
	}
}
