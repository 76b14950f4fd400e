// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/resolve"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// builder builds the parts of a controller that need no host.
type builder struct {
	kind            parentcontroller.Kind
	name            string
	hooks           *parentcontroller.Hooks
	endpointConfigs []v1alpha1.EndpointConfig
	labelSelectors  []*v1alpha1.LabelSelector
	annotations     []*v1alpha1.AnnotationSelector
}

func newBuilder(t testing.TB, object runtime.Object) builder {
	t.Helper()
	switch of := object.(type) {
	case *v1alpha1.CompositeController:
		b := builder{kind: resolve.CompositeKind(), name: of.Name, endpointConfigs: of.Spec.EndpointConfigs}
		b.labelSelectors = []*v1alpha1.LabelSelector{of.Spec.ParentResource.LabelSelector}
		if hooks := of.Spec.Hooks; hooks != nil {
			b.hooks = &parentcontroller.Hooks{Sync: hooks.Sync, Finalize: hooks.Finalize, Customize: hooks.Customize}
		}
		return b
	case *v1alpha1.DecoratorController:
		b := builder{kind: resolve.DecoratorKind(), name: of.Name, endpointConfigs: of.Spec.EndpointConfigs}
		for _, target := range of.Spec.Resources {
			b.labelSelectors = append(b.labelSelectors, target.LabelSelector)
			b.annotations = append(b.annotations, target.AnnotationSelector)
		}
		if hooks := of.Spec.Hooks; hooks != nil {
			b.hooks = &parentcontroller.Hooks{Sync: hooks.Sync, Finalize: hooks.Finalize, Customize: hooks.Customize}
		}
		return b
	}
	t.Fatalf("%T is not a controller", object)
	return builder{}
}

// build returns an error if the controller can never run. It assumes that the host has all that the
// controller refers to.
func (b builder) build(ctx context.Context, pair pki.KeyPair) error {
	if b.hooks == nil {
		return errors.New("no hooks")
	}
	var spec parentcontroller.Spec
	if err := spec.ResolveHooks(*b.hooks); err != nil {
		return err
	}
	if finalizer := b.kind.Finalizer(b.name); spec.Finalize != nil && len(validation.IsQualifiedName(finalizer)) > 0 {
		return fmt.Errorf("the finalizer %s cannot be stored", finalizer)
	}
	for _, selector := range b.labelSelectors {
		if _, err := parentcontroller.LabelSelector(selector); err != nil {
			return err
		}
	}
	for _, selector := range b.annotations {
		if selector == nil {
			continue
		}
		if _, err := observe.NewAnnotationSelector(selector.MatchAnnotations, selector.MatchExpressions); err != nil {
			return err
		}
	}
	for name, of := range map[string]*v1alpha1.Hook{hook.Sync: spec.Sync, hook.Finalize: spec.Finalize, hook.Customize: spec.Customize} {
		if of != nil {
			if err := b.connect(ctx, name, of, pair); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b builder) connect(ctx context.Context, name string, of *v1alpha1.Hook, pair pki.KeyPair) error {
	made, err := hook.New(name, of, b.endpointConfigs, hook.Options{
		Limits: hook.Limits{MaxResponseBytes: 1}, MaxIdleConnections: 1, Sources: b.sources(of, pair),
		Decorates: b.kind.ChildrenField == "attachments",
	})
	if err != nil {
		return err
	}
	defer made.Close()
	err = made.Connect(ctx, func(error) {})
	if _, ok := errors.AsType[*hook.SourceError](err); ok {
		return nil // one key cannot serve for everything that it is said to be for
	}
	return err
}

// sources are the Secrets and ConfigMaps of a host: by kind, namespace and name, then by key.
type sources map[string]map[string][]byte

// sources returns the Secrets and ConfigMaps that the hook may refer to, with a usable value under
// each key.
func (b builder) sources(of *v1alpha1.Hook, pair pki.KeyPair) sources {
	made := sources{}
	put := func(kind, namespace, name, key string, value []byte) {
		id := kind + "/" + namespace + "/" + name
		if made[id] == nil {
			made[id] = map[string][]byte{}
		}
		made[id][key] = value
	}
	add := func(bundle *v1alpha1.CABundle, tls *v1alpha1.ClientTLS, authorization *v1alpha1.Authorization, auth *v1alpha1.BasicAuth) {
		if bundle != nil && bundle.SecretRef != nil {
			put("Secret", bundle.SecretRef.Namespace, bundle.SecretRef.Name, bundle.SecretRef.GetKey(), pair.Cert)
		}
		if bundle != nil && bundle.ConfigMapRef != nil {
			put("ConfigMap", bundle.ConfigMapRef.Namespace, bundle.ConfigMapRef.Name, bundle.ConfigMapRef.GetKey(), pair.Cert)
		}
		if tls != nil {
			put("Secret", tls.SecretRef.Namespace, tls.SecretRef.Name, tls.GetCertKey(), pair.Cert)
			put("Secret", tls.SecretRef.Namespace, tls.SecretRef.Name, tls.GetPrivateKeyKey(), pair.Key)
		}
		if authorization != nil {
			put("Secret", authorization.SecretRef.Namespace, authorization.SecretRef.Name, authorization.SecretRef.Key, []byte("token"))
		}
		if auth != nil {
			put("Secret", auth.SecretRef.Namespace, auth.SecretRef.Name, auth.GetUsernameKey(), []byte("user"))
			put("Secret", auth.SecretRef.Namespace, auth.SecretRef.Name, auth.GetPasswordKey(), []byte("word"))
		}
	}
	if of.Webhook != nil {
		add(of.Webhook.CABundle, of.Webhook.ClientTLS, of.Webhook.Authorization, of.Webhook.BasicAuth)
	}
	for _, config := range b.endpointConfigs {
		add(config.CABundle, config.ClientTLS, config.Authorization, config.BasicAuth)
	}
	return made
}

// Follow implements hook.Sources for a host on which nothing changes.
func (s sources) Follow(_ context.Context, of object.Type, name types.NamespacedName, changed func(*object.Object)) (stop func(), err error) {
	var data any = s[of.Kind+"/"+name.Namespace+"/"+name.Name]
	if of.Kind == "ConfigMap" {
		text := map[string]string{}
		for key, value := range s[of.Kind+"/"+name.Namespace+"/"+name.Name] {
			text[key] = string(value)
		}
		data = text
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": of.Kind, "data": data,
		"metadata": map[string]any{"namespace": name.Namespace, "name": name.Name, "uid": "u", "resourceVersion": "1"},
	})
	if err != nil {
		return nil, err
	}
	found, err := object.Parse(raw)
	if err != nil {
		return nil, err
	}
	changed(found)
	return func() {}, nil
}

func keyPair(t testing.TB) pki.KeyPair {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	return authority.KeyPair
}

func TestWhatIsAcceptedCanBeBuilt(t *testing.T) {
	decoder, pair := decoder(t), keyPair(t)
	for _, c := range Accepted(t) {
		t.Run(c.Name, func(t *testing.T) {
			if err := newBuilder(t, c.read(t, decoder)).build(t.Context(), pair); err != nil {
				t.Error(err)
			}
		})
	}
}
