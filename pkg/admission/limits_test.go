// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

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
	const tooMany = `2 controllers have a service account in the namespace "shop" or are limited to it, and there may ` +
		`be 2 (--max-controllers-per-namespace)`
	const tooLarge = "bytes of JSON, and the server stores up to 10000 (--max-object-bytes)"
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
