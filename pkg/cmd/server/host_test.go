// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
)

const compositeControllersPath = "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers"

// asAlice are the headers by which the host's front proxy says on whose behalf it asks.
func asAlice() []string {
	return []string{"X-Remote-User", "alice", "X-Remote-Group", "developers", "X-Remote-Group", "system:authenticated"}
}

func TestUsersWhoComeThroughTheHostAreSeenAsThemselves(t *testing.T) {
	clients := newClientAuthority(t)
	host := newFakeHost(t, clients)
	host.allow = func(review authorizationv1.SubjectAccessReviewSpec) bool { return review.User == "alice" }
	server := start(t, host.serverConfig(t))

	frontProxy := server.client(t, clients.client(t, "front-proxy"))
	mustGet(t, frontProxy, server.url(compositeControllersPath), http.StatusOK, asAlice()...)
	reviews := host.reviewed()
	last := reviews[len(reviews)-1]
	want(t, "user", last.User, "alice")
	want(t, "verb", last.ResourceAttributes.Verb, "list")
	want(t, "resource", last.ResourceAttributes.Resource, "compositecontrollers")
	if !slices.Contains(last.Groups, "developers") {
		t.Errorf("groups %v lack developers", last.Groups)
	}
}

func TestOnlyTheFrontProxyMaySpeakForOthers(t *testing.T) {
	clients := newClientAuthority(t)
	host := newFakeHost(t, clients)
	host.allow = func(review authorizationv1.SubjectAccessReviewSpec) bool { return review.User == "alice" }
	server := start(t, host.serverConfig(t))

	for name, client := range map[string]*http.Client{
		"somebody without a certificate":          server.anonymous(t),
		"somebody with another certificate":       server.client(t, clients.client(t, "mallory")),
		"somebody whom the cluster does not know": server.client(t, newClientAuthority(t).client(t, "front-proxy")),
	} {
		if _, _, err := get(t, client, server.url(compositeControllersPath), http.StatusForbidden, asAlice()...); err != nil &&
			!strings.Contains(err.Error(), "401 Unauthorized") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, review := range host.reviewed() {
		if review.User == "alice" {
			t.Error("somebody was taken for alice")
		}
	}
}

func TestTheServerBecomesReadyOnHostsThatServeLess(t *testing.T) {
	for name, resources := range map[string][]string{
		"a host of our version": currentResources(),
		"a host without mutating policies": {
			"validatingadmissionpolicies.v1.admissionregistration.k8s.io", "flowschemas.v1.flowcontrol.apiserver.k8s.io"},
		"a host with nothing of it": nil,
	} {
		t.Run(name, func(t *testing.T) {
			host := newFakeHost(t, newClientAuthority(t))
			host.resources = resources
			start(t, host.serverConfig(t))
		})
	}
}

func TestWhatTheHostLacksIsTurnedOff(t *testing.T) {
	tests := map[string]struct {
		missing  string
		enabled  []string // plugins asked for
		disabled []string // plugins that are turned off
		noAPF    bool
		wantErr  string
	}{
		"nothing is missing": {},
		"mutating policies":  {missing: "mutatingadmissionpolicies", disabled: []string{"MutatingAdmissionPolicy"}},
		"priority and fairness": {
			missing: "flowschemas",
			noAPF:   true,
		},
		"a plugin that was asked for": {
			missing: "mutatingadmissionpolicies",
			enabled: []string{"MutatingAdmissionPolicy"},
			wantErr: "--enable-admission-plugins has MutatingAdmissionPolicy",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host := newFakeHost(t, newClientAuthority(t))
			host.resources = slices.DeleteFunc(host.resources, func(resource string) bool {
				return test.missing != "" && strings.HasPrefix(resource, test.missing+".")
			})
			options := parse(t, "--kubeconfig="+host.kubeconfig(t))
			options.Recommended.Admission.DisablePlugins = []string{"Own"}
			options.Recommended.Admission.EnablePlugins = test.enabled
			extended := extended(t, options)
			recommended := extended.options
			err := extended.prepare(t.Context())
			if test.wantErr != "" {
				wantError(t, err, test.wantErr)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := recommended.Admission.DisablePlugins; !slices.Equal(got, append([]string{"Own"}, test.disabled...)) {
				t.Errorf("disabled plugins %v, want the own one and %v", got, test.disabled)
			}
			want(t, "priority and fairness", recommended.Features.EnablePriorityAndFairness, !test.noAPF)
		})
	}
}

func TestDiscoveryDoesNotNeedTheHost(t *testing.T) {
	clients := newClientAuthority(t)
	host := newFakeHost(t, clients)
	server := start(t, host.serverConfig(t))
	host.disappear()

	frontProxy := server.client(t, clients.client(t, "front-proxy"))
	for _, path := range []string{"/apis", "/apis/metacontroller.k8s.io", "/apis/metacontroller.k8s.io/v1alpha1", "/openapi/v2"} {
		mustGet(t, frontProxy, server.url(path), http.StatusOK, asAlice()...)
	}
	mustGet(t, server.anonymous(t), server.url("/readyz"), http.StatusOK)
	mustGet(t, server.anonymous(t), server.url("/livez"), http.StatusOK)
}

func TestHostsThatCannotBeExtendedAreErrorsThatSayWhatToDo(t *testing.T) {
	tests := map[string]struct {
		change func(*fakeHost)
		want   string
	}{
		"no aggregation": {
			change: func(h *fakeHost) { delete(h.configMap, "requestheader-client-ca-file") },
			want:   "the cluster does not aggregate APIs",
		},
		"no right to see the front proxy": {
			change: func(h *fakeHost) {
				h.configMapErr = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, authenticationConfigMap, nil)
			},
			want: "extension-apiserver-authentication-reader",
		},
		"no access at all": {
			change: func(h *fakeHost) { h.versionErr = apierrors.NewUnauthorized("") },
			want:   "cannot be reached: the server has asked for the client to provide credentials",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host := newFakeHost(t, newClientAuthority(t))
			test.change(host)
			wantError(t, launch(t, host.serverConfig(t)).wait(t), test.want)
		})
	}
}

// extended is the host that options name, before it was looked for.
func extended(t *testing.T, options *Options) *extendedHost {
	t.Helper()
	host, err := newExtendedHost(options.recommended(nil))
	if err != nil {
		t.Fatal(err)
	}
	return host
}

func TestTheWaitForAHostEndsWhenTheServerIsToldToStop(t *testing.T) {
	host := newFakeHost(t, newClientAuthority(t))
	extended := extended(t, parse(t, "--kubeconfig="+host.kubeconfig(t)))
	host.disappear()
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if err := extended.prepare(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v of the start, want that of its context", err)
	}
	if err := extended.follow(ctx); err != nil {
		t.Error(err)
	}
	wantError(t, extended.check(nil), "cannot be reached")
}

func TestAServerStartsWithoutItsHostAndIsReadyWhenTheHostComes(t *testing.T) {
	clients := newClientAuthority(t)
	host := newFakeHost(t, clients)
	host.disappear()
	config := host.serverConfig(t)
	controllersRun := make(chan struct{})
	config.adjust = func(config *apiserver.Config) {
		run := config.ExtraConfig.RunControllers
		config.ExtraConfig.RunControllers = func(ctx context.Context, loopback *rest.Config) error {
			close(controllersRun)
			return run(ctx, loopback)
		}
	}
	server := launch(t, config)
	<-controllersRun

	anonymous, frontProxy := server.anonymous(t), server.client(t, clients.client(t, "front-proxy"))
	mustGet(t, anonymous, server.url("/livez"), http.StatusOK)
	_, _, err := get(t, anonymous, server.url("/readyz"), http.StatusOK)
	wantError(t, err, "[-]cluster failed")
	_, answer := mustGet(t, frontProxy, server.url(compositeControllersPath), http.StatusServiceUnavailable, asAlice()...)
	want(t, "when to try again", answer.Get("Retry-After"), "1")

	host.appear(t)
	eventually(t, func() error {
		_, _, err := get(t, anonymous, server.url("/readyz"), http.StatusOK)
		return err
	})
	mustGet(t, frontProxy, server.url(compositeControllersPath), http.StatusOK, asAlice()...)
}

func TestAHostThatComesLaterMayNeedAnotherStart(t *testing.T) {
	host := newFakeHost(t, newClientAuthority(t))
	options := parse(t, "--kubeconfig="+host.kubeconfig(t))
	extended := extended(t, options)
	host.setResources(currentResources()[:2]...)
	wantError(t, extended.follow(t.Context()), "does not serve flowcontrol.apiserver.k8s.io/v1, Resource=flowschemas")
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error %v, want one that says %q", err, part)
	}
}
