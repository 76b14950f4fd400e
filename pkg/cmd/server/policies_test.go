// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// upgradedHost serves resources from when it is upgraded.
type upgradedHost struct {
	err      error
	upgraded bool
	asked    int
}

func (h *upgradedHost) ServerResourcesForGroupVersionWithContext(context.Context, string) (*metav1.APIResourceList, error) {
	h.asked++
	switch {
	case h.err != nil:
		return nil, h.err
	case !h.upgraded:
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "mutatingadmissionpolicies"}}}, nil
}

// startedPlugin counts how often it is started.
type startedPlugin struct {
	policyPlugin
	err    error
	starts int
}

func (p *startedPlugin) ValidateInitialization() error {
	p.starts++
	return p.err
}

func TestAnAPIIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, plugin := &upgradedHost{}, &startedPlugin{}
		api := &awaitedAPI{plugin: plugin, resource: mutatingPoliciesResource(), host: host, stop: t.Context().Done(),
			informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
		isServed := func(want bool, asked int) {
			t.Helper()
			got, err := api.isServed(t.Context())
			if err != nil || got != want || host.asked != asked {
				t.Fatalf("served is %t after asking %d times (error %v), want %t after %d", got, host.asked, err, want, asked)
			}
		}
		later := func() { <-time.After(lookInterval) }

		if err := api.ValidateInitialization(); err != nil || plugin.starts != 0 {
			t.Fatalf("error %v, started %d times", err, plugin.starts)
		}
		host.upgraded = true
		isServed(false, 1) // it was just asked
		host.err = errors.New("connection refused")
		later()
		isServed(false, 2)
		host.err, host.upgraded = nil, false
		later()
		isServed(false, 3)
		host.upgraded = true
		later()
		isServed(true, 4)
		later()
		isServed(true, 4)
		if plugin.starts != 1 {
			t.Errorf("started %d times, want once", plugin.starts)
		}
	})
}

func TestAnAPIThatIsServedIsNotAwaited(t *testing.T) {
	host := &upgradedHost{upgraded: true}
	broken := errors.New("no authorizer")
	api := &awaitedAPI{plugin: &startedPlugin{err: broken}, resource: mutatingPoliciesResource(), host: host}
	if err := api.ValidateInitialization(); !errors.Is(err, broken) {
		t.Errorf("error is %v, want that of the plugin", err)
	}
}

func TestRequestsAreRefusedUntilItIsKnownWhichRulesTheHostHas(t *testing.T) {
	host, plugin := &upgradedHost{err: errors.New("connection refused")}, &startedPlugin{}
	api := &awaitedAPI{plugin: plugin, resource: mutatingPoliciesResource(), host: host, stop: t.Context().Done(),
		informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
	if err := api.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	served, err := api.isServed(t.Context())
	if _, triesAgain := apierrors.SuggestsClientDelay(err); served || !apierrors.IsServiceUnavailable(err) || !triesAgain {
		t.Errorf("served is %t, error %v, want one that the client tries again after", served, err)
	}
	host.err, host.upgraded = nil, true
	if served, err := api.isServed(t.Context()); !served || err != nil {
		t.Errorf("served is %t, error %v after the host has come", served, err)
	}
}

func TestPoliciesAreFoundWhenTheHostIsUpgraded(t *testing.T) {
	clients := newClientAuthority(t)
	host := newFakeHost(t, clients)
	host.setResources("flowschemas.v1.flowcontrol.apiserver.k8s.io")
	server := start(t, host.serverConfig(t))
	frontProxy := server.client(t, clients.client(t, "front-proxy"))
	host.setResources(currentResources()...)
	eventually(t, func() error {
		dryRun(t, frontProxy, server.url(compositeControllersPath))
		for _, resource := range []string{"mutatingadmissionpolicies", "validatingadmissionpolicies"} {
			if !slices.Contains(host.listed(), resource) {
				return fmt.Errorf("%s are not watched", resource)
			}
		}
		return nil
	})
}
