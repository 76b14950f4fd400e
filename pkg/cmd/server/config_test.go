// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
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

// listensAt is a listener that only says where it listens.
type listensAt string

func (l listensAt) Accept() (net.Conn, error) { return nil, net.ErrClosed }

func (l listensAt) Close() error { return nil }

func (l listensAt) Addr() net.Addr { return l }

func (l listensAt) Network() string { return "tcp" }

func (l listensAt) String() string { return string(l) }

func TestWhereReplicasReachThisProcess(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"at the address that it listens at":  {[]string{"--bind-address=192.0.2.1"}, "192.0.2.1:6443"},
		"at the one that it is said to have": {[]string{"--bind-address=0.0.0.0", "--advertise-address=192.0.2.2"}, "192.0.2.2:6443"},
		"at the one that it is said to have, rather than where it listens": {
			[]string{"--bind-address=192.0.2.1", "--advertise-address=192.0.2.2"}, "192.0.2.2:6443",
		},
		"at one of version 6": {[]string{"--bind-address=2001:db8::1"}, "[2001:db8::1]:6443"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(t, test.flags...).replicaAddress(listensAt("[::]:6443"))
			if err != nil || got != test.want {
				t.Errorf("the address is %q, want %q (%v)", got, test.want, err)
			}
		})
	}
}

func TestWhoThisProcessIsAsksTheHostUntilItAnswers(t *testing.T) {
	asked := 0
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		if asked++; asked == 1 {
			return true, nil, errors.New("no route to host")
		}
		review := &authenticationv1.SelfSubjectReview{}
		review.Status.UserInfo.Username = "system:serviceaccount:metacontroller:metacontroller-apiserver"
		return true, review, nil
	})
	own := ownUser{client: client}
	if name, err := own.get(t.Context()); err == nil {
		t.Errorf("without an answer, it is %q", name)
	}
	for range 2 {
		name, err := own.get(context.WithoutCancel(t.Context()))
		if err != nil || name != "system:serviceaccount:metacontroller:metacontroller-apiserver" {
			t.Errorf("it is %q, %v", name, err)
		}
	}
	if asked != 2 {
		t.Errorf("the host was asked %d times, want 2: the answer stays the same", asked)
	}
}
