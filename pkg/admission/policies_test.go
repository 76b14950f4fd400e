// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
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

// actingAs sets the service account shop/websites.
func actingAs(spec *v1alpha1.CompositeControllerSpec) {
	spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}
}

func TestControllersWithoutAServiceAccount(t *testing.T) {
	const warningText = "spec.serviceAccount: is not set, so the controller acts as the server; the server rejects the next change of spec without a ServiceAccount (--require-service-account)"
	changed := composed(child("v1", "services"))
	root := &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	loopback := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	for name, test := range map[string]struct {
		optional        bool
		author          user.Info
		subresource     string
		updated, stored runtime.Object
		refused         bool
		warnings        []string
	}{
		"a new one is refused":                         {updated: composed(), refused: true},
		"a new decorator is refused":                   {updated: decorated("pages"), refused: true},
		"a new one of a superuser is refused":          {author: root, updated: composed(), refused: true},
		"a new one is accepted if that is not asked":   {optional: true, updated: composed()},
		"one with an account is accepted":              {updated: composed(actingAs)},
		"a change of the spec is refused":              {updated: changed, stored: composed(), refused: true},
		"taking the account away is refused":           {updated: composed(), stored: composed(actingAs), refused: true},
		"giving one is accepted":                       {updated: composed(actingAs), stored: composed()},
		"the spec may stay as it is, with a warning":   {updated: composed(), stored: composed(), warnings: []string{warningText}},
		"the server itself is not warned":              {author: loopback, updated: composed(), stored: composed()},
		"nobody is warned if an account is not needed": {optional: true, updated: composed(), stored: composed()},
		"the status may be written":                    {subresource: "status", updated: changed, stored: composed()},
		"a revision has none":                          {updated: &v1alpha1.ControllerRevision{}},
	} {
		t.Run(name, func(t *testing.T) {
			author := test.author
			if author == nil {
				author = jane()
			}
			var warnings recorder
			ctx := warning.WithWarningRecorder(t.Context(), &warnings)
			err := NewServiceAccounts(!test.optional).Validate(ctx, request(author, test.subresource, test.updated, test.stored), nil)
			if test.refused != apierrors.IsInvalid(err) || !test.refused && err != nil {
				t.Errorf("error is %v", err)
			}
			if !slices.Equal(warnings, test.warnings) {
				t.Errorf("warnings are %q, want %q", warnings, test.warnings)
			}
		})
	}
}

// tenantIndex is an index of controllers.
func tenantIndex(t *testing.T, composites, decorators []any) *ParentIndex {
	t.Helper()
	index := &ParentIndex{}
	first, second := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byTenant: tenants}),
		cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byTenant: tenants})
	for into, objects := range map[cache.Indexer][]any{first: composites, second: decorators} {
		for _, one := range objects {
			trimmed, err := trimToParent(one)
			if err != nil || into.Add(trimmed) != nil {
				t.Fatal("no index")
			}
		}
	}
	index.indexer.Store(&first)
	index.decorators.Store(&second)
	return index
}

func TestWhatTenantsMayStoreIsLimited(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	interfaces := admission.NewObjectInterfacesFromScheme(scheme)
	shop := v1alpha1.Access{ServiceAccount: &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}}
	stored := tenantIndex(t,
		[]any{
			&v1alpha1.CompositeController{
				ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.CompositeControllerSpec{Access: shop},
			},
			&v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
			&v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		},
		[]any{&v1alpha1.DecoratorController{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       v1alpha1.DecoratorControllerSpec{Access: v1alpha1.Access{Namespaces: []string{"shop", "bank"}}},
		}})
	withNote := func(bytes int) func(*v1alpha1.CompositeControllerSpec) {
		return func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource += strings.Repeat("x", bytes)
		}
	}
	inBank := func(spec *v1alpha1.CompositeControllerSpec) { spec.Namespaces = []string{"bank"} }
	longPatch := []byte(`"` + strings.Repeat("x", 20_000) + `"`)
	revision := &v1alpha1.ControllerRevision{ParentPatch: runtime.RawExtension{Raw: longPatch}}
	const tooMany = `2 controllers have a service account in the namespace "shop" or are limited to it, but the ` +
		`maximum is 2 (--max-controllers-per-namespace)`
	const tooLarge = "bytes of JSON, but the maximum is 10000 (--max-object-bytes)"
	loopback := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	large := composed(withNote(20_000))
	for name, test := range map[string]struct {
		author          user.Info
		subresource     string
		updated, stored runtime.Object
		want            string
	}{
		"a small one":                             {updated: composed()},
		"a large one":                             {updated: large, want: tooLarge},
		"one that becomes large":                  {updated: large, stored: composed(), want: tooLarge},
		"a large one that does not grow":          {updated: large, stored: composed(withNote(20_001))},
		"a large one that the server changes":     {author: loopback, updated: large, stored: composed()},
		"the status of a large one":               {subresource: "status", updated: large, stored: composed()},
		"a large revision, also by the server":    {author: loopback, updated: revision, want: tooLarge},
		"a third one of a tenant":                 {updated: composed(actingAs), want: tooMany},
		"one that moves to the tenant":            {updated: composed(actingAs), stored: composed(), want: tooMany},
		"one that the tenant has":                 {updated: composed(actingAs, withNote(1)), stored: composed(actingAs)},
		"a second one of another tenant":          {updated: composed(inBank)},
		"a third one of those who may everything": {updated: composed()},
	} {
		t.Run(name, func(t *testing.T) {
			author := test.author
			if author == nil {
				author = jane()
			}
			limits, asked := NewLimits(10_000, 2, stored), request(author, test.subresource, test.updated, test.stored)
			err := limits.Validate(t.Context(), asked, interfaces)
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
