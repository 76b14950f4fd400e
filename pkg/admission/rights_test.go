// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// plugin is the one that asks the host.
func plugin(t *testing.T, host *fakeHost) *Rights {
	t.Helper()
	made, err := NewRights(nil)
	if err != nil {
		t.Fatal(err)
	}
	NewInitializer(host.asHost()).Initialize(made)
	rights := made.(*Rights)
	if err := rights.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	return rights
}

func allRights() []string {
	return []string{
		"get pages.example.com", "list pages.example.com", "watch pages.example.com", "update pages.example.com/status",
		"get pods", "list pods", "watch pods", "create pods", "update pods", "patch pods", "delete pods",
	}
}

func TestWhoMayCreateAController(t *testing.T) {
	const exemption = "escalate compositecontrollers.metacontroller.k8s.io"
	for name, test := range map[string]struct {
		author  user.Info
		rules   []string
		reviews int
		missing string
	}{
		"a cluster administrator costs one review":     {author: jane(), rules: []string{"*"}, reviews: 1},
		"who may escalate needs nothing else":          {author: jane(), rules: []string{exemption}, reviews: 1},
		"the host's superusers need not be asked for":  {author: &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}},
		"the server itself is one of them":             {author: &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.AllAuthenticated, user.SystemPrivilegedGroup}}},
		"its name alone makes nobody the server":       {author: &user.DefaultInfo{Name: user.APIServerUser}, reviews: 3 + 11, missing: "delete"},
		"who has every single right":                   {author: jane(), rules: allRights(), reviews: 3 + 11},
		"who may do anything with each type":           {author: jane(), rules: []string{"[*] pages.example.com", "[*] pods", "update pages.example.com/status"}, reviews: 3 + 1},
		"who may escalate decorators only":             {author: jane(), rules: append(allRights()[1:], "escalate decoratorcontrollers.metacontroller.k8s.io"), reviews: 3 + 11, missing: "get"},
		"who lacks one right":                          {author: jane(), rules: slices.DeleteFunc(allRights(), func(rule string) bool { return rule == "delete pods" }), reviews: 3 + 11, missing: "delete"},
		"who has a right to parents, not their status": {author: jane(), rules: append(slices.DeleteFunc(allRights(), func(rule string) bool { return strings.HasSuffix(rule, "/status") }), "update pages.example.com"), reviews: 3 + 11, missing: "pages/status"},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{rules: test.rules}
			err := plugin(t, host).Validate(t.Context(), request(test.author, "", composed(), nil), nil)
			if test.missing == "" && err != nil || test.missing != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.missing)) {
				t.Errorf("error is %v, want %q to be missing", err, test.missing)
			}
			if asked := host.questions(); len(asked) != test.reviews {
				t.Errorf("%d reviews, want %d:\n%s", len(asked), test.reviews, strings.Join(asked, "\n"))
			}
		})
	}
}

func TestWhoMayEscalateIsNotAskedAboutTypes(t *testing.T) {
	host := &fakeHost{rules: []string{"escalate compositecontrollers.metacontroller.k8s.io"}, discoveryErr: errGone}
	if err := plugin(t, host).Validate(t.Context(), request(jane(), "", composed(), nil), nil); err != nil {
		t.Error(err)
	}
}

func TestARefusalListsEverythingThatIsMissingAsRules(t *testing.T) {
	host := &fakeHost{rules: []string{"* pages.example.com"}, trouble: `clusterrole "gone" not found`}
	controller := composed(child("v1", "services"), child("apps/v1", "deployments"), func(spec *v1alpha1.CompositeControllerSpec) {
		for _, name := range []string{"one", "two"} {
			spec.EndpointConfigs = append(spec.EndpointConfigs, v1alpha1.EndpointConfig{
				Host: name, BasicAuth: &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: name}},
			})
		}
	})
	err := plugin(t, host).Validate(t.Context(), request(jane(), "", controller, nil), nil)
	want := `compositecontrollers.metacontroller.k8s.io "pages" is forbidden: a controller may do only what its author may do, ` +
		`and user "jane" (groups=["authors" "system:authenticated"]) lacks permissions that the controller uses
# missing permissions in a ClusterRole:
rules:
- apiGroups: ["example.com"] # for spec.parentResource
  resources: ["pages/status"]
  verbs: ["update"]
- apiGroups: [""] # for spec.childResources[0], spec.childResources[1]
  resources: ["pods", "services"]
  verbs: ["get", "list", "watch", "create", "update", "patch", "delete"]
- apiGroups: ["apps"] # for spec.childResources[2]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "create", "update", "patch", "delete"]
# missing permissions in a Role of namespace "keys":
rules:
- apiGroups: [""] # for spec.endpointConfigs[0].basicAuth.secretRef, spec.endpointConfigs[1].basicAuth.secretRef
  resources: ["secrets"]
  resourceNames: ["one", "two"]
  verbs: ["get"]
# The verb escalate on compositecontrollers.metacontroller.k8s.io replaces all of them.
# The cluster could not evaluate everything: clusterrole "gone" not found`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestWhoMayActAsAServiceAccount(t *testing.T) {
	const right = "impersonate serviceaccounts shop/websites"
	acting := composed(actingAs, asking())
	host := &fakeHost{rules: []string{right}, discoveryErr: errGone}
	if err := plugin(t, host).Validate(t.Context(), request(jane(), "", acting, nil), nil); err != nil {
		t.Errorf("who may impersonate the account is told %v", err)
	}
	if asked, want := host.questions(), []string{"escalate compositecontrollers.metacontroller.k8s.io", right}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}

	want := `compositecontrollers.metacontroller.k8s.io "pages" is forbidden: a controller may act only as a service account that its author ` +
		`may impersonate, and user "jane" (groups=["authors" "system:authenticated"]) may not
# missing permissions in a Role of namespace "shop":
rules:
- apiGroups: [""] # for spec.serviceAccount
  resources: ["serviceaccounts"]
  resourceNames: ["websites"]
  verbs: ["impersonate"]
# The verb escalate on compositecontrollers.metacontroller.k8s.io replaces all of them.`
	for name, stored := range map[string]*v1alpha1.CompositeController{
		"a new controller": nil,
		"a changed spec":   composed(actingAs),
	} {
		request := request(jane(), "", acting, nil)
		if stored != nil {
			request = admission.NewAttributesRecord(acting, stored, request.GetKind(), "", "pages", request.GetResource(), "", admission.Update, nil, false, jane())
		}
		err := plugin(t, &fakeHost{rules: allRights()}).Validate(t.Context(), request, nil)
		if !apierrors.IsForbidden(err) || err.Error() != want {
			t.Errorf("%s: error is\n%v\nwant\n%s", name, err, want)
		}
	}
}

func TestACustomizeHookThatMayAskForAnything(t *testing.T) {
	const sentence = "# The customize hook may select objects of any type. Declare the types that it selects in spec.relatedResources: then the author needs permissions only for these types."
	readers := []string{"get [*].[*]", "list [*].[*]", "watch [*].[*]"}
	nodes := v1alpha1.ResourceRule{APIVersion: "v1", Resource: "nodes"}
	for name, test := range map[string]struct {
		controller *v1alpha1.CompositeController
		more       []string
		refused    bool
		sentence   bool
	}{
		"is for authors who may read everything": {controller: composed(asking()), more: readers},
		"is for no one else":                     {controller: composed(asking()), refused: true, sentence: true},
		"is no matter when the types are declared, and the author may read them":     {controller: composed(asking(nodes)), more: []string{"[*] nodes"}},
		"is no matter when the types are declared, and the author may not read them": {controller: composed(asking(nodes)), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{rules: append(allRights(), test.more...)}
			err := plugin(t, host).Validate(t.Context(), request(jane(), "", test.controller, nil), nil)
			if test.refused != apierrors.IsForbidden(err) || !test.refused && err != nil {
				t.Errorf("error is %v", err)
			}
			if has := err != nil && strings.Contains(err.Error(), sentence); has != test.sentence {
				t.Errorf("error is %v, want the sentence: %t", err, test.sentence)
			}
		})
	}
}

func TestAStoredCustomizeHookThatMayAskForAnythingGoesOn(t *testing.T) {
	const text = "spec.hooks.customize: may select objects of any type, so the next user who changes spec needs permission to read all types; declare the types in spec.relatedResources"
	loopback := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	for name, test := range map[string]struct {
		author user.Info
		stored func(*v1alpha1.CompositeControllerSpec)
		want   []string
	}{
		"with a warning":                          {jane(), asking(), []string{text}},
		"without one for the server itself":       {loopback, asking(), nil},
		"without one if there is no such hook":    {jane(), within(), nil},
		"without one if the types are declared":   {jane(), asking(v1alpha1.ResourceRule{APIVersion: "v1", Resource: "nodes"}), nil},
		"without one if it has a service account": {jane(), func(spec *v1alpha1.CompositeControllerSpec) { asking()(spec); actingAs(spec) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings recorder
			host := &fakeHost{}
			ctx := warning.WithWarningRecorder(t.Context(), &warnings)
			if err := plugin(t, host).Validate(ctx, request(test.author, "", composed(test.stored), composed(test.stored)), nil); err != nil || len(host.questions()) > 0 {
				t.Errorf("error %v after asking %q", err, host.questions())
			}
			if !slices.Equal(warnings, test.want) {
				t.Errorf("warnings are %q, want %q", warnings, test.want)
			}
		})
	}
}

func TestTheStatusIsWrittenWhereTheHostKeepsIt(t *testing.T) {
	for name, test := range map[string]struct {
		served []string
		want   string
	}{
		"in its subresource": {[]string{"pages", "pages/status"}, "update pages.example.com/status"},
		"in the object":      {[]string{"pages"}, "update pages.example.com"},
		"in the subresource, while there is no type": {[]string{"books"}, "update pages.example.com/status"},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{served: map[string][]string{"example.com/v1": test.served}}
			controller := composed(func(spec *v1alpha1.CompositeControllerSpec) { spec.ChildResources = nil })
			if err := plugin(t, host).Validate(t.Context(), request(jane(), "", controller, nil), nil); !apierrors.IsForbidden(err) {
				t.Errorf("error is %v", err)
			}
			updates := slices.DeleteFunc(host.questions(), func(question string) bool { return !strings.HasPrefix(question, "update ") })
			if !slices.Equal(updates, []string{test.want}) {
				t.Errorf("asked for %q, want %q", updates, test.want)
			}
		})
	}
}

func TestTheHostIsToldAllThatIsKnownOfTheAuthor(t *testing.T) {
	host := &fakeHost{rules: []string{"*"}}
	if err := plugin(t, host).Validate(t.Context(), request(jane(), "", decorated("pages"), nil), nil); err != nil {
		t.Fatal(err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "jane", UID: "7", Groups: []string{"authors", "system:authenticated"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "metacontroller.k8s.io", Version: "*", Resource: "decoratorcontrollers", Name: "pages", Verb: "escalate"},
	}
	if len(host.specs) != 1 || !reflect.DeepEqual(host.specs[0], want) {
		t.Errorf("asked %+v\nwant %+v", host.specs, want)
	}
}

func TestWhatNeedsNoRights(t *testing.T) {
	more := composed(child("v1", "secrets"))
	labelled := composed()
	labelled.Labels = map[string]string{"a": "b"}
	for name, request := range map[string]admission.Attributes{
		"an update of metadata":        request(jane(), "", labelled, composed()),
		"an update of nothing":         request(jane(), "", composed(), composed()),
		"an update of the status":      request(jane(), "status", more, composed()),
		"a revision, which is no spec": request(jane(), "", &v1alpha1.ControllerRevision{}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{err: errGone, discoveryErr: errGone}
			if err := plugin(t, host).Validate(t.Context(), request, nil); err != nil || len(host.questions()) > 0 {
				t.Errorf("error %v after asking %q", err, host.questions())
			}
		})
	}
	if rights := plugin(t, &fakeHost{}); rights.Handles(admission.Delete) || rights.Handles(admission.Connect) {
		t.Error("who deletes a controller is asked for its rights")
	}
}

// An attacker hides a change among others: an authority or a credential that another hook of the same
// controller has anyway, or a first entry of endpointConfigs. So no change is told from another.
func TestEveryChangeOfTheSpecNeedsAllRights(t *testing.T) {
	inline := func(pem string) *v1alpha1.CABundle { return &v1alpha1.CABundle{Inline: ptr.To(pem)} }
	twoAuthorities := func(sync, unused string) func(*v1alpha1.CompositeControllerSpec) {
		return func(spec *v1alpha1.CompositeControllerSpec) {
			spec.Hooks.Sync.Webhook.CABundle = inline(sync)
			spec.Hooks.PreUpdateChild = hookAt("http://hooks.default/sync")
			spec.Hooks.PreUpdateChild.Webhook.CABundle = inline(unused)
		}
	}
	endpoints := func(hosts ...string) func(*v1alpha1.CompositeControllerSpec) {
		return func(spec *v1alpha1.CompositeControllerSpec) {
			for _, host := range hosts {
				spec.EndpointConfigs = append(spec.EndpointConfigs, v1alpha1.EndpointConfig{Host: host, CABundle: inline(host)})
			}
		}
	}
	for name, test := range map[string]struct {
		stored, updated func(*v1alpha1.CompositeControllerSpec)
	}{
		"a type less":               {child("v1", "services"), func(*v1alpha1.CompositeControllerSpec) {}},
		"another version of a type": {child("apps/v1", "deployments"), child("apps/v1beta1", "deployments")},
		"another authority, and an unused hook with the former": {twoAuthorities("theirs", "theirs"), twoAuthorities("mallory's", "theirs")},
		"entries that change places":                            {endpoints("hooks.default", "*.default"), endpoints("*.default", "hooks.default")},
		"a timeout": {func(*v1alpha1.CompositeControllerSpec) {}, func(spec *v1alpha1.CompositeControllerSpec) {
			spec.Hooks.Sync.Webhook.Timeout = ptr.To(v1alpha1.Duration("3s"))
		}},
		"an update method, which may delete": {func(*v1alpha1.CompositeControllerSpec) {}, func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ChildResources[0].UpdateStrategy = &v1alpha1.CompositeControllerChildUpdateStrategy{
				Method: new(v1alpha1.ChildUpdateRecreate)}
		}},
		"a selector that selects more parents": {func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		}, func(*v1alpha1.CompositeControllerSpec) {}},
	} {
		t.Run(name, func(t *testing.T) {
			updated := composed(test.updated)
			err := plugin(t, &fakeHost{}).Validate(t.Context(), request(jane(), "", updated, composed(test.stored)), nil)
			if !apierrors.IsForbidden(err) {
				t.Fatalf("error is %v", err)
			}
			created := plugin(t, &fakeHost{}).Validate(t.Context(), request(jane(), "", updated, nil), nil)
			if err.Error() != created.Error() {
				t.Errorf("the update needs\n%v\nits creation\n%v", err, created)
			}
		})
	}
}

func TestNothingIsStoredIfTheHostCannotBeAsked(t *testing.T) {
	for name, host := range map[string]*fakeHost{
		"no review":    {err: errGone},
		"no discovery": {discoveryErr: errGone},
	} {
		t.Run(name, func(t *testing.T) {
			err := plugin(t, host).Validate(t.Context(), request(jane(), "", composed(), nil), nil)
			status, ok := errors.AsType[*apierrors.StatusError](err)
			if !ok || status.ErrStatus.Code != http.StatusServiceUnavailable {
				t.Fatalf("error is %v, want one with status 503", err)
			}
			for _, want := range []string{`compositecontrollers.metacontroller.k8s.io "pages"`, `user "jane"`, errGone.Error(), "try again"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
}

func TestAPluginThatCannotAskIsAnError(t *testing.T) {
	made, err := NewRights(nil)
	if err != nil {
		t.Fatal(err)
	}
	if made.(*Rights).ValidateInitialization() == nil {
		t.Error("a plugin without a host is taken for one that works")
	}
}

func TestReviewsAreBounded(t *testing.T) {
	var children []func(*v1alpha1.CompositeControllerSpec)
	for i := range 100 {
		children = append(children, child("v1", fmt.Sprintf("type%d", i)))
	}
	host := &fakeHost{}
	if err := plugin(t, host).Validate(t.Context(), request(jane(), "", composed(children...), nil), nil); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if asked, want := len(host.questions()), 1+102+4+101*7; asked != want {
		t.Errorf("%d reviews, want %d", asked, want)
	}
}

func revisionsPlugin(t *testing.T, host *fakeHost) *Revisions {
	t.Helper()
	made, err := NewRevisions(nil)
	if err != nil {
		t.Fatal(err)
	}
	NewInitializer(host.asHost()).Initialize(made)
	return made.(*Revisions)
}

func revision(changes ...func(*v1alpha1.ControllerRevision)) *v1alpha1.ControllerRevision {
	made := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "now", Namespace: "shops", ResourceVersion: "7", Labels: map[string]string{"app": "shop"},
			Annotations: map[string]string{"metacontroller.k8s.io/field-paths": `["spec"]`}, Finalizers: []string{"orphan", "foregroundDeletion"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Web", Name: "shop", UID: "u", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}},
		},
		ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		Children:    []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: []string{"a"}}},
	}
	for _, change := range changes {
		change(made)
	}
	return made
}

func writeOf(author user.Info, subresource string, updated, stored *v1alpha1.ControllerRevision) admission.Attributes {
	resource := v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")
	if stored == nil {
		return admission.NewAttributesRecord(updated, nil, schema.GroupVersionKind{}, "shops", "now", resource, subresource, admission.Create, &metav1.CreateOptions{}, false, author)
	}
	return admission.NewAttributesRecord(updated, stored, schema.GroupVersionKind{}, "shops", "now", resource, subresource, admission.Update, &metav1.UpdateOptions{}, false, author)
}

func TestWhoMayCreateARevision(t *testing.T) {
	for name, test := range map[string]struct {
		author  user.Info
		rules   []string
		reviews int
		refused bool
	}{
		"the server itself":                       {author: &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.AllAuthenticated, user.SystemPrivilegedGroup}}},
		"its name alone makes nobody the server":  {author: &user.DefaultInfo{Name: user.APIServerUser}, reviews: 1, refused: true},
		"a cluster administrator":                 {author: jane(), rules: []string{"*"}, reviews: 1},
		"who may restore":                         {author: jane(), rules: []string{"restore controllerrevisions.metacontroller.k8s.io shops/now"}, reviews: 1},
		"who may restore in another namespace":    {author: jane(), rules: []string{"restore controllerrevisions.metacontroller.k8s.io cafes/now"}, reviews: 1, refused: true},
		"who may create revisions and no more":    {author: jane(), rules: []string{"create controllerrevisions.metacontroller.k8s.io shops/now"}, reviews: 1, refused: true},
		"who may restore the cluster's revisions": {author: jane(), rules: []string{"restore controllerrevisions.apps shops/now"}, reviews: 1, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{rules: test.rules}
			err := revisionsPlugin(t, host).Validate(t.Context(), writeOf(test.author, "", revision(), nil), nil)
			if test.refused != apierrors.IsForbidden(err) || !test.refused && err != nil {
				t.Errorf("error is %v", err)
			}
			if asked := host.questions(); len(asked) != test.reviews {
				t.Errorf("%d reviews, want %d: %q", len(asked), test.reviews, asked)
			}
		})
	}
}

func TestARefusedRevisionIsExplained(t *testing.T) {
	err := revisionsPlugin(t, &fakeHost{}).Validate(t.Context(), writeOf(jane(), "", revision(), nil), nil)
	want := `controllerrevisions.metacontroller.k8s.io "now" is forbidden: hooks get the content of ` +
		`ControllerRevisions, so only the server writes them; ` +
		`to restore a backup, user "jane" needs the verb restore on controllerrevisions.metacontroller.k8s.io in the namespace "shops"`
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestARevisionIsNotWrittenIfTheHostCannotBeAsked(t *testing.T) {
	err := revisionsPlugin(t, &fakeHost{err: errGone}).Validate(t.Context(), writeOf(jane(), "", revision(), nil), nil)
	_, triesAgain := apierrors.SuggestsClientDelay(err)
	if !apierrors.IsServiceUnavailable(err) || !triesAgain || !strings.Contains(err.Error(), errGone.Error()) {
		t.Errorf("error is %v, want status %d", err, http.StatusServiceUnavailable)
	}
}

func TestWhichUpdatesOfARevisionNeedTheRightToRestore(t *testing.T) {
	type change = func(*v1alpha1.ControllerRevision)
	for name, test := range map[string]struct {
		change  change
		refused bool
	}{
		"none":                          {func(*v1alpha1.ControllerRevision) {}, false},
		"a finalizer that goes":         {func(r *v1alpha1.ControllerRevision) { r.Finalizers = r.Finalizers[:1] }, false},
		"an owner that goes":            {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences = nil }, false},
		"an owner that no longer waits": {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences[0].BlockOwnerDeletion = ptr.To(false) }, false},
		"who manages what": {func(r *v1alpha1.ControllerRevision) {
			r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "gc"}}
		}, false},
		"another resource version":                   {func(r *v1alpha1.ControllerRevision) { r.ResourceVersion = "8" }, false},
		"the fields of the parent":                   {func(r *v1alpha1.ControllerRevision) { r.ParentPatch.Raw = []byte(`{}`) }, true},
		"the children":                               {func(r *v1alpha1.ControllerRevision) { r.Children = nil }, true},
		"a label, by which a parent may adopt it":    {func(r *v1alpha1.ControllerRevision) { r.Labels = map[string]string{"app": "cafe"} }, true},
		"an annotation, such as the recorded paths":  {func(r *v1alpha1.ControllerRevision) { r.Annotations = nil }, true},
		"another owner":                              {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences[0].UID = "v" }, true},
		"an owner that becomes no controller":        {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences[0].Controller = nil }, true},
		"a new finalizer":                            {func(r *v1alpha1.ControllerRevision) { r.Finalizers = append(r.Finalizers, "stuck") }, true},
		"a finalizer that goes, with something else": {func(r *v1alpha1.ControllerRevision) { r.Finalizers, r.Children = nil, nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, subresource := range []string{"", "status"} {
				err := revisionsPlugin(t, &fakeHost{}).Validate(t.Context(), writeOf(jane(), subresource, revision(test.change), revision()), nil)
				if test.refused != apierrors.IsForbidden(err) || !test.refused && err != nil {
					t.Errorf("error is %v", err)
				}
				if err := revisionsPlugin(t, &fakeHost{rules: []string{"restore controllerrevisions.metacontroller.k8s.io shops/now"}}).Validate(t.Context(), writeOf(jane(), subresource, revision(test.change), revision()), nil); err != nil {
					t.Errorf("who may restore is refused: %v", err)
				}
			}
		})
	}
}

func TestThePluginLeavesOtherKindsAlone(t *testing.T) {
	host := &fakeHost{}
	if err := revisionsPlugin(t, host).Validate(t.Context(), request(jane(), "", composed(), nil), nil); err != nil || len(host.questions()) > 0 {
		t.Errorf("error is %v after %q", err, host.questions())
	}
}
