// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

func TestHooksAtDeniedAddressesAreRefused(t *testing.T) {
	at := func(url string) func(*v1alpha1.CompositeControllerSpec) {
		return func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync = hookAt(url) }
	}
	const metadata = "http://169.254.169.254/latest/meta-data"
	decorator := decorated("pages")
	decorator.Spec.Hooks.Customize = hookAt(metadata)
	for name, test := range map[string]struct {
		updated, stored *v1alpha1.CompositeController
		want            []string // fields
	}{
		"a name":                     {updated: composed()},
		"another address":            {updated: composed(at("http://10.0.0.1/sync"))},
		"a link-local address":       {updated: composed(at(metadata)), want: []string{"spec.hooks.sync.webhook.url: "}},
		"one of IPv6":                {updated: composed(at("http://[fe80::1%25eth0]:8080/")), want: []string{"spec.hooks.sync.webhook.url: "}},
		"one of IPv4 as one of IPv6": {updated: composed(at("http://[::ffff:169.254.1.1]/")), want: []string{"spec.hooks.sync.webhook.url: "}},
		"an update to it":            {updated: composed(at(metadata)), stored: composed(), want: []string{"spec.hooks.sync.webhook.url: "}},
		"one that was stored before it was denied": {updated: composed(at(metadata), child("v1", "services")), stored: composed(at(metadata))},
		"several hooks": {
			updated: composed(at(metadata), func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Finalize = hookAt(metadata) }),
			want:    []string{"spec.hooks.sync.webhook.url: ", "spec.hooks.finalize.webhook.url: "},
		},
		"a service whose name is half an address": {
			updated: composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.Hooks.Sync.Webhook = &v1alpha1.Webhook{
					Service: &v1alpha1.ServiceReference{Name: "169.254", Namespace: "169.254"}, Path: ptr.To("/"),
				}
			}),
			want: []string{"spec.hooks.sync.webhook.service: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := request(jane(), "", test.updated, nil)
			if test.stored != nil {
				asked = request(jane(), "", test.updated, test.stored)
			}
			err := NewHookAddresses(hookaddress.DeniedByDefault()).Validate(t.Context(), asked, nil)
			if len(test.want) == 0 && err != nil || len(test.want) > 0 && !apierrors.IsInvalid(err) {
				t.Fatalf("error is %v, want it to name %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
	err := NewHookAddresses(hookaddress.DeniedByDefault()).Validate(t.Context(), request(jane(), "", decorator, nil), nil)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.hooks.customize.webhook.url") {
		t.Errorf("of a decorator: %v", err)
	}
	if err := NewHookAddresses(nil).Validate(t.Context(), request(jane(), "", decorator, nil), nil); err != nil {
		t.Errorf("where nothing is denied: %v", err)
	}
}
