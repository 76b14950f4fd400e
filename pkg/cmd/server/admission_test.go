// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServiceAccountsAreRequiredIfAFlagSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		flag   bool
		status int
	}{
		"by default":    {false, http.StatusCreated},
		"with the flag": {true, http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			clients := newClientAuthority(t)
			host := newFakeHost(t, clients)
			config := host.serverConfig(t)
			toHost := config.options
			config.options = func(o *Options) {
				toHost(o)
				o.Controllers.RequireServiceAccount = test.flag
			}
			server := start(t, config)
			status, answer := dryRun(t, server.client(t, clients.client(t, "front-proxy")), server.url(compositeControllersPath))
			want(t, "status", status, test.status)
			want(t, "the flag is named in the answer", strings.Contains(answer, "--require-service-account"), test.flag)
		})
	}
}

// dryRun sends a controller that is not stored, and returns the answer.
func dryRun(t *testing.T, client *http.Client, url string) (status int, answer string) {
	t.Helper()
	const controller = `{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": {"name": "pages"}, "spec": {
		"parentResource": {"apiVersion": "v1", "resource": "pods"}, "hooks": {"sync": {"webhook": {"url": "http://127.0.0.1:1/sync"}}}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"?dryRun=All", strings.NewReader(controller))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	headers := append(asAlice(), "X-Remote-Group", "system:masters")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
