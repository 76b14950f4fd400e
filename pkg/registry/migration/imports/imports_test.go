// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
	generatedopenapi "github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/registrytest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/rest"
	migrationrest "github.com/metacontroller/metacontroller-apiserver/pkg/registry/migration/rest"
)

// server is both API groups, on an etcd of its own.
type server struct {
	imports    dynamic.ResourceInterface
	composites dynamic.ResourceInterface
	revisions  dynamic.ResourceInterface
}

func newServer(t *testing.T) server {
	t.Helper()
	scheme := registrytest.NewScheme(t)
	config := genericapiserver.NewConfig(serializer.NewCodecFactory(scheme))
	registrytest.StartStorage(t, scheme, config)
	namer := openapi.NewDefinitionNamer(scheme)
	config.ExternalAddress = "127.0.0.1:443"
	config.LoopbackClientConfig = &restclient.Config{}
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	generic, err := config.Complete(nil).New("registry-test", genericapiserver.NewEmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	group, importers, err := rest.StorageProvider{Scheme: scheme}.NewRESTStorage(config.RESTOptionsGetter)
	if err != nil {
		t.Fatal(err)
	}
	second, err := migrationrest.StorageProvider{Scheme: scheme, Serializer: group.NegotiatedSerializer, Importers: importers}.NewRESTStorage(config.RESTOptionsGetter)
	if err != nil {
		t.Fatal(err)
	}
	if err := generic.InstallAPIGroups(&group, &second); err != nil {
		t.Fatal(err)
	}
	generic.PrepareRun()
	t.Cleanup(generic.Destroy)
	listener := httptest.NewServer(generic.Handler)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	client, err := dynamic.NewForConfig(&restclient.Config{Host: listener.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return server{
		imports:    client.Resource(migration.SchemeGroupVersion.WithResource("imports")),
		composites: client.Resource(v1alpha1.SchemeGroupVersion.WithResource("compositecontrollers")),
		revisions:  client.Resource(v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")).Namespace("shop"),
	}
}

const composite = `
apiVersion: metacontroller.k8s.io/v0migration
kind: CompositeController
metadata:
  name: websites
  uid: 6c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6
  resourceVersion: "4711"
  creationTimestamp: "2021-02-03T04:05:06Z"
  generation: 7
  labels: {app: shop}
  annotations: {note: "text"}
  finalizers: [example.com/keep]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: 1c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6}]
  managedFields:
  - {apiVersion: metacontroller.k8s.io/v1alpha1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:generateSelector": {}}}, manager: kubectl, operation: Update, time: "2021-02-03T04:05:06Z"}
spec:
  parentResource: {apiVersion: example.com/v1, resource: websites}
  childResources: [{apiVersion: v1, resource: pods}]
  generateSelector: true
  hooks: {sync: {version: v1, webhook: {url: "http://hooks.example/sync"}}}
status: {}
`

const revision = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: websites.example.com-0123, namespace: shop, uid: 7c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6, resourceVersion: "12", generation: 3, creationTimestamp: "2021-02-03T04:05:06Z"}
parentPatch: {spec: {image: a}}
children: [{apiGroup: "", kind: Pod, names: [a]}]
`

// object returns an object after changes.
func object(t *testing.T, text string, changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	read := &unstructured.Unstructured{}
	if err := read.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(read)
	}
	return read
}

// edited returns a change of a label, as of a resourceVersion.
func edited(resourceVersion, value string) func(*unstructured.Unstructured) {
	return func(of *unstructured.Unstructured) {
		of.SetResourceVersion(resourceVersion)
		of.SetLabels(map[string]string{"edited": value})
	}
}

// create imports an object. The spec of the Import has more fields, as true.
func (s server) create(t *testing.T, of *unstructured.Unstructured, fields ...string) (*migration.Import, error) {
	t.Helper()
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": migration.SchemeGroupVersion.String(), "kind": "Import",
		"metadata": map[string]any{"name": string(of.GetUID())}, "spec": map[string]any{"object": of.Object},
	}}
	options := metav1.CreateOptions{}
	for _, field := range fields {
		if field == "dryRun" {
			options.DryRun = []string{metav1.DryRunAll}
			continue
		}
		request.Object["spec"].(map[string]any)[field] = true
	}
	answer, err := s.imports.Create(t.Context(), request, options)
	if err != nil {
		return nil, err
	}
	var read migration.Import
	return &read, runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, &read)
}

func (s server) mustCreate(t *testing.T, result migration.ImportResult, of *unstructured.Unstructured, fields ...string) *migration.Import {
	t.Helper()
	answer, err := s.create(t, of, fields...)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status.Result != result {
		t.Fatalf("the import did %q, want %q", answer.Status.Result, result)
	}
	return answer
}

func (s server) list(t *testing.T, limit int64) (all []migration.Import) {
	t.Helper()
	options := metav1.ListOptions{Limit: limit}
	for {
		page, err := s.imports.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 && len(page.Items) > int(limit) {
			t.Fatalf("a page has %d items", len(page.Items))
		}
		for _, item := range page.Items {
			var read migration.Import
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &read); err != nil {
				t.Fatal(err)
			}
			all = append(all, read)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all
		}
	}
}

// same fails the test unless an object is as another one, but for the version and the resourceVersion.
func same(t *testing.T, got, want *unstructured.Unstructured) {
	t.Helper()
	got, want = got.DeepCopy(), want.DeepCopy()
	for _, of := range []*unstructured.Unstructured{got, want} {
		of.SetAPIVersion("")
		of.SetResourceVersion("")
		if status, _, _ := unstructured.NestedMap(of.Object, "status"); len(status) == 0 {
			delete(of.Object, "status")
		}
	}
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("it is different (-want +got):\n%s", diff)
	}
}

func TestAnImportedObjectIsAsItWas(t *testing.T) {
	s := newServer(t)
	deleting := func(of *unstructured.Unstructured) {
		now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		of.SetDeletionTimestamp(&now)
		of.SetDeletionGracePeriodSeconds(new(int64))
		of.SetName("deleted")
		of.SetUID("8c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6")
	}
	for name, test := range map[string]struct {
		of     *unstructured.Unstructured
		stored dynamic.ResourceInterface
	}{
		"a controller":            {object(t, composite), s.composites},
		"one that is deleted":     {object(t, composite, deleting), s.composites},
		"a revision in namespace": {object(t, revision), s.revisions},
	} {
		t.Run(name, func(t *testing.T) {
			answer := s.mustCreate(t, migration.ImportCreated, test.of)
			if answer.Status.SourceResourceVersion != test.of.GetResourceVersion() || answer.Status.Changed {
				t.Errorf("the status of the import is %+v", answer.Status)
			}
			stored, err := test.stored.Get(t.Context(), test.of.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, stored, test.of)
			s.mustCreate(t, migration.ImportUnchanged, test.of)
		})
	}
}

func TestImportsFollowTheOtherServer(t *testing.T) {
	s := newServer(t)
	s.mustCreate(t, migration.ImportCreated, object(t, composite))
	newer := object(t, composite, edited("4712", "there"))
	s.mustCreate(t, migration.ImportUpdated, newer, "dryRun")
	s.mustCreate(t, migration.ImportUpdated, newer)
	stored, err := s.composites.Get(t.Context(), "websites", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, stored, newer)

	stored.SetLabels(map[string]string{"edited": "here"})
	if _, err := s.composites.Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.mustCreate(t, migration.ImportUnchanged, newer)
	conflicting := object(t, composite, edited("4713", "again"))
	s.mustCreate(t, migration.ImportMerged, conflicting)
	s.mustCreate(t, migration.ImportUpdated, conflicting, "overwrite")
	s.mustCreate(t, migration.ImportDeleted, conflicting, "deleted") // the finalizer of the object does not count
	if _, err := s.composites.Get(t.Context(), "websites", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
	s.mustCreate(t, migration.ImportUnchanged, conflicting, "deleted")
	if left := s.list(t, 0); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// An object that was deleted at the other server is not the object that has its name here.
func TestADeletionSparesAnotherObjectOfTheSameName(t *testing.T) {
	s := newServer(t)
	s.mustCreate(t, migration.ImportCreated, object(t, composite))
	other := object(t, composite, func(of *unstructured.Unstructured) { of.SetUID("0c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6") })
	s.mustCreate(t, migration.ImportUnchanged, other, "deleted", "overwrite")
	stored, err := s.composites.Get(t.Context(), "websites", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, stored, object(t, composite))
}

// Imports succeed while the server writes the status of the same object.
func TestImportsGoOnBesideWritesOfTheStatus(t *testing.T) {
	s := newServer(t)
	s.mustCreate(t, migration.ImportCreated, object(t, composite))
	imported, written := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for generation := 1; err == nil; generation++ {
			select {
			case <-imported:
				written <- nil
				return
			default:
			}
			status := fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, generation)
			_, err = s.composites.Patch(t.Context(), "websites", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		}
		written <- err
	}()
	for version := range 200 {
		newer := object(t, composite, edited(fmt.Sprint(5000+version), fmt.Sprint(version)))
		if _, err := s.create(t, newer, "overwrite"); err != nil {
			t.Errorf("import %d: %v", version, err)
			break
		}
	}
	close(imported)
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// What was changed on both sides since an import is merged. Of the same field, what is here counts. This goes on from merge to merge.
func TestChangesHereAndThereAreMerged(t *testing.T) {
	s := newServer(t)
	before := object(t, composite)
	s.mustCreate(t, migration.ImportCreated, before)
	patch := func(text string) {
		t.Helper()
		if _, err := s.composites.Patch(t.Context(), "websites", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	there := object(t, composite, edited("4712", "there"), func(of *unstructured.Unstructured) {
		of.SetAnnotations(map[string]string{"only": "there"})
		of.SetGeneration(before.GetGeneration() + 1)
		of.Object["spec"].(map[string]any)["resyncPeriodSeconds"] = int64(77)
	})
	patch(`{"metadata":{"labels":{"edited":"here","only":"here"}},"spec":{"paused":true}}`)
	s.mustCreate(t, migration.ImportMerged, there, "dryRun")
	s.mustCreate(t, migration.ImportMerged, there)
	expect := func(period, generation int64) {
		t.Helper()
		got, err := s.composites.Get(t.Context(), "websites", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		is, _, _ := unstructured.NestedInt64(got.Object, "spec", "resyncPeriodSeconds")
		paused, _, _ := unstructured.NestedBool(got.Object, "spec", "paused")
		if got.GetLabels()["edited"] != "here" || got.GetLabels()["only"] != "here" || got.GetAnnotations()["only"] != "there" || is != period || !paused ||
			got.GetGeneration() != generation || got.GetUID() != before.GetUID() {
			t.Errorf("it was merged to %v", got.Object)
		}
	}
	expect(77, before.GetGeneration()+2)
	s.mustCreate(t, migration.ImportUnchanged, there)
	there.SetResourceVersion("4713")
	there.Object["spec"].(map[string]any)["resyncPeriodSeconds"] = int64(78)
	s.mustCreate(t, migration.ImportMerged, there)
	expect(78, before.GetGeneration()+3)
	if shown := s.list(t, 0); len(shown) != 1 || !shown[0].Status.Changed || shown[0].Status.SourceResourceVersion != "4713" {
		t.Errorf("it is shown as %v", shown)
	}
}

func TestWhatWasExportedIsTheSameHereAndThere(t *testing.T) {
	s := newServer(t)
	made, err := s.composites.Create(t.Context(), object(t, composite, func(of *unstructured.Unstructured) {
		of.SetAPIVersion(v1alpha1.SchemeGroupVersion.String())
		of.SetResourceVersion("")
	}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	exported := made.DeepCopy()
	exported.SetResourceVersion("4711")
	s.mustCreate(t, migration.ImportUnchanged, exported, "exported")
	if all := s.list(t, 0); len(all) != 1 || all[0].Status.Changed || all[0].Status.SourceResourceVersion != "4711" {
		t.Errorf("there are %+v", all)
	}
	exported.SetUID("0c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6")
	if _, err := s.create(t, exported, "exported"); !apierrors.IsConflict(err) {
		t.Errorf("the error is %v", err)
	}
}

// The server writes the status of what it has imported.
func TestTheStatusStaysWhenAnObjectIsImportedAgain(t *testing.T) {
	s := newServer(t)
	s.mustCreate(t, migration.ImportCreated, object(t, composite))
	stored, err := s.composites.Get(t.Context(), "websites", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(stored.Object, int64(7), "status", "observedGeneration"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.composites.UpdateStatus(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.mustCreate(t, migration.ImportUnchanged, object(t, composite))
	s.mustCreate(t, migration.ImportUpdated, object(t, composite, edited("4712", "there")))
	if stored, err = s.composites.Get(t.Context(), "websites", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if observed, _, _ := unstructured.NestedInt64(stored.Object, "status", "observedGeneration"); observed != 7 {
		t.Errorf("the status is %v", stored.Object["status"])
	}
	if !slices.ContainsFunc(stored.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource == "status" }) {
		t.Errorf("nobody owns the status: %v", stored.GetManagedFields())
	}
}

func TestWhatCannotBeTakenIsRefused(t *testing.T) {
	s := newServer(t)
	if _, err := s.composites.Create(t.Context(), object(t, composite, func(of *unstructured.Unstructured) {
		of.SetAPIVersion(v1alpha1.SchemeGroupVersion.String())
		of.SetName("taken")
		of.SetResourceVersion("")
	}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set := func(value any, path ...string) *unstructured.Unstructured {
		return object(t, composite, func(of *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(of.Object, value, path...); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, test := range map[string]struct {
		of   *unstructured.Unstructured
		says string
	}{
		"a field that is not known":   {set(true, "spec", "newer"), `unknown field "spec.newer"`},
		"an invalid spec":             {set("ftp://a", "spec", "hooks", "sync", "webhook", "url"), "spec.hooks.sync.webhook.url"},
		"a name that is taken":        {set("taken", "metadata", "name"), "another object has its name here"},
		"another API group":           {set("example.com/v1", "apiVersion"), "cannot be imported"},
		"an unknown kind":             {set("Thing", "kind"), "cannot be imported"},
		"a field of a different type": {set("yes", "spec", "generateSelector"), "generateSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, how := range [][]string{nil, {"dryRun"}, {"overwrite"}} {
				if _, err := s.create(t, test.of, how...); err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("with %q, the error is %v, want %q", how, err, test.says)
				}
			}
		})
	}
	if _, err := s.composites.Get(t.Context(), "websites", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("something was stored: %v", err)
	}
}

func TestImportsAreListedAndForgotten(t *testing.T) {
	s := newServer(t)
	const count = 7
	for i := range count {
		s.mustCreate(t, migration.ImportCreated, object(t, composite, func(of *unstructured.Unstructured) {
			of.SetName(fmt.Sprint("websites-", i))
			of.SetUID(types.UID(fmt.Sprintf("%dc6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6", i)))
			of.SetFinalizers(nil)
		}))
	}
	s.mustCreate(t, migration.ImportCreated, object(t, revision, func(of *unstructured.Unstructured) { of.SetUID("9c6ef91c-17c1-4f1c-9d2b-6cf2a7a5b1f6") }))
	// One is made here, and one is deleted here.
	if _, err := s.composites.Create(t.Context(), object(t, composite, func(of *unstructured.Unstructured) {
		of.SetAPIVersion(v1alpha1.SchemeGroupVersion.String())
		of.SetResourceVersion("")
	}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.composites.Delete(t.Context(), "websites-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{0, 1, 3, 100} {
		changed, gone := 0, 0
		all := s.list(t, limit)
		for _, item := range all {
			if item.Status.Changed {
				changed++
			}
			if item.Status.Object == nil {
				gone++
				continue
			}
			var of metav1.PartialObjectMetadata
			if err := json.Unmarshal(item.Status.Object.Raw, &of); err != nil || string(of.UID) != item.Name || of.APIVersion != v1alpha1.SchemeGroupVersion.String() {
				t.Errorf("import %s shows %s, error %v", item.Name, item.Status.Object.Raw, err)
			}
			got, err := s.imports.Get(t.Context(), item.Name, metav1.GetOptions{})
			if err != nil || got.GetName() != item.Name {
				t.Errorf("it cannot be read alone: %v", err)
			}
		}
		if len(all) != count+2 || changed != 2 || gone != 1 {
			t.Errorf("with the limit %d there are %d, of which %d are changed and %d gone", limit, len(all), changed, gone)
		}
	}
	if err := s.imports.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	all := s.list(t, 0)
	if len(all) != count+1 || slices.ContainsFunc(all, func(item migration.Import) bool {
		return item.Status.SourceResourceVersion != "" || !item.Status.Changed
	}) {
		t.Errorf("after all are forgotten, there are %+v", all)
	}
}
