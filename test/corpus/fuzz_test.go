// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// FuzzAdmission reads, defaults and validates any text that a client may send. A controller can be
// built from each object that is accepted.
func FuzzAdmission(f *testing.F) {
	for _, c := range append(Refused(f), Accepted(f)...) {
		text, err := c.Object.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	decoder, scheme, pair := decoder(f), newScheme(f), keyPair(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := runtime.Decode(decoder, text)
		if err != nil {
			return
		}
		checkValidation(t, scheme, read, pair)
	})
}

// FuzzWebhook varies the texts and numbers whose format is validated.
func FuzzWebhook(f *testing.F) {
	seed := func(with uint16) {
		f.Add("http://hooks.tools/sync", "hooks", "tools", "/sync", "https", "10s", "hooks.tools:8443", "Bearer", "", "key", int32(8443), int32(60), with)
	}
	for bit := range 13 {
		seed(1<<0 | 1<<bit)                   // a url
		seed(1<<1 | 1<<2 | 1<<bit)            // a service
		seed(1<<1 | 1<<2 | 0b11<<3 | 1<<bit)  // a service with protocol and port
		seed(1<<0 | 1<<12 | 1<<bit)           // a url, with settings of its own
		seed(1<<0 | 1<<12 | 0b11<<5 | 1<<bit) // a url, with a bundle of its own
	}
	f.Add("http://:80", "a.b", "tools.svc.", "?b", "HTTP", "-1m", "[::1]", " basic", "-----BEGIN CERTIFICATE-----", "my key", int32(0), int32(-1), uint16(0x5555))
	f.Add("http://[::1%25lo]:0/%zz?#", "a..b", "-a", "@b/c", "h2c", "1e9h", ":80", "b\nc", " ", "a/b", int32(65536), int32(1), uint16(0xffff))
	scheme, pair := newScheme(f), keyPair(f)
	f.Fuzz(func(t *testing.T, url, service, namespace, path, protocol, timeout, host, authorization, inline, key string, port, seconds int32, with uint16) {
		has := func(bit int) bool { return with>>bit&1 == 1 }
		optional := func(bit int, text string) *string {
			if has(bit) {
				return &text
			}
			return nil
		}
		webhook := &v1alpha1.Webhook{URL: optional(0, url), Path: optional(1, path), Timeout: ptr.To(v1alpha1.Duration(timeout))}
		if has(2) {
			webhook.Service = &v1alpha1.ServiceReference{Name: service, Namespace: namespace, Protocol: optional(3, protocol)}
			if has(4) {
				webhook.Service.Port = &port
			}
		}
		config := v1alpha1.EndpointConfig{Host: host}
		if has(5) {
			config.CABundle = &v1alpha1.CABundle{Inline: optional(6, inline)}
			if has(7) {
				config.CABundle.SecretRef = &v1alpha1.ResourceKeyRef{Name: service, Namespace: namespace, Key: &key}
			}
		}
		if has(8) {
			config.Authorization = &v1alpha1.Authorization{Type: &authorization,
				SecretRef: v1alpha1.SecretKeyRef{Name: service, Namespace: namespace, Key: key}}
		}
		if has(9) {
			config.BasicAuth = &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Name: service,
				Namespace: namespace}, UsernameKey: &key}
		}
		if has(10) {
			config.ClientTLS = &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Name: service,
				Namespace: namespace}, CertKey: &key}
		}
		if has(11) {
			webhook.Etag = &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true), CacheTimeoutSeconds: &seconds}
		}
		controller := &v1alpha1.CompositeController{}
		controller.Name = "a"
		controller.Spec.ParentResource.APIVersion, controller.Spec.ParentResource.Resource = "v1", "pods"
		controller.Spec.Hooks = &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Webhook: webhook}}
		if has(12) {
			webhook.CABundle, webhook.ClientTLS, webhook.Authorization, webhook.BasicAuth = config.CABundle, config.ClientTLS, config.Authorization, config.BasicAuth
		} else {
			controller.Spec.EndpointConfigs = []v1alpha1.EndpointConfig{config}
		}
		checkValidation(t, scheme, controller, pair)
	})
}

// checkValidation checks what must be true of all errors and warnings.
func checkValidation(t *testing.T, scheme *runtime.Scheme, read runtime.Object, pair pki.KeyPair) {
	t.Helper()
	errs, warnings := validate(read)
	for _, err := range errs {
		if err.Field == "" || err.Field == "<nil>" {
			t.Errorf("an error has no field: %v", err)
		}
	}
	for _, warning := range warnings {
		if path, message, found := strings.Cut(warning, ": "); !found || path == "" || message == "" {
			t.Errorf("a warning has no field: %s", warning)
		}
	}
	if errs := validateUpdate(read); len(errs) > 0 {
		t.Errorf("an object is refused as it is stored: %v", errs)
	}
	checkDefaults(t, scheme, read)
	switch read.(type) {
	case *v1alpha1.CompositeController, *v1alpha1.DecoratorController:
		if err := newBuilder(t, read).build(t.Context(), pair); len(errs) == 0 && err != nil {
			t.Errorf("accepted, but its controller cannot be built: %v", err)
		}
	}
}

// validateUpdate returns the errors of an update that changes nothing.
func validateUpdate(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *v1alpha1.CompositeController:
		return validation.ValidateCompositeControllerUpdate(object, object)
	case *v1alpha1.DecoratorController:
		return validation.ValidateDecoratorControllerUpdate(object, object)
	}
	return nil
}

// checkDefaults checks that defaulting an object twice changes nothing more.
func checkDefaults(t *testing.T, scheme *runtime.Scheme, read runtime.Object) {
	t.Helper()
	public, err := scheme.ConvertToVersion(read.DeepCopyObject(), v1alpha1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	scheme.Default(public)
	again := public.DeepCopyObject()
	scheme.Default(again)
	if !apiequality.Semantic.DeepEqual(public, again) {
		t.Errorf("defaults of %v differ the second time: %v", public, again)
	}
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}
