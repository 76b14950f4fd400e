// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Object is JSON as hooks read and write it.
type Object = hook.Object

// Answers are functions from request to answer, by the path of the hook.
type Answers = map[string]func(asked Object) Object

// Scenario is what one test uses of the cluster. Texts that are given to its methods may contain
// words. A word is $ and letters:
//
//	$NAMESPACE  a namespace that only this test uses
//	$NAME       a name for cluster-scoped objects that only this test uses
//	$HOOK       the URL of the hook
//	$Kind       the apiVersion of a kind that Define has created
//
// Say adds words and changes their meanings.
type Scenario struct {
	testing.TB
	Env       *harness.Env
	Namespace string
	Unique    string
	Hook      *hook.Server
	// Engine is how children of the controllers are written, one of harness.Engines. Empty is the
	// default of the process.
	Engine v1alpha1.ChildApplyStrategy

	words map[string]string
}

// New returns a scenario with a namespace and a hook, whose answers Answers sets.
func New(t testing.TB, env *harness.Env) *Scenario {
	t.Helper()
	s := &Scenario{
		TB:        t,
		Env:       env,
		Namespace: env.Namespace(t),
		Unique:    harness.Name("scenario"),
		Hook:      hook.Serve(t, func(context.Context, hook.Call) hook.Answer { return hook.Text(500, "no answer yet") }),
	}
	s.words = map[string]string{"$NAMESPACE": s.Namespace, "$NAME": s.Unique, "$HOOK": s.Hook.URL("")}
	return s
}

// Define brings a kind into the cluster. Its apiVersion is $Kind.
func (s *Scenario) Define(definition harness.CRD) schema.GroupVersionResource {
	s.Helper()
	resource := s.Env.Install(s, definition)
	s.Say("$"+definition.Kind, resource.GroupVersion().String())
	return resource
}

// word is a placeholder in a text. It ends before the first character that is not a letter.
var word = regexp.MustCompile(`\$[A-Za-z]+`)

// Say gives a word a meaning in later texts. Words in the meaning itself are replaced now. The test
// fails if name is not a word: other text is never replaced.
func (s *Scenario) Say(name, meaning string) {
	s.Helper()
	if word.FindString(name) != name || name == "" {
		s.Fatalf("%q is not a word: it must be $ and letters", name)
	}
	s.words[name] = s.Text(meaning)
}

// Text replaces the words that have a meaning. All else, words without one included, stays.
func (s *Scenario) Text(text string) string {
	return word.ReplaceAllStringFunc(text, func(name string) string {
		if meaning, said := s.words[name]; said {
			return meaning
		}
		return name
	})
}

// Answers sets the function that answers each path of the hook, such as "/sync". Other paths are
// answered 404.
func (s *Scenario) Answers(answers Answers) {
	s.Hook.Handle(func(_ context.Context, call hook.Call) hook.Answer {
		answer := answers[call.Path]
		if answer == nil {
			return hook.Text(404, "no such hook: "+call.Path)
		}
		var asked Object
		if err := call.Decode(&asked); err != nil {
			s.Errorf("the hook was sent something that cannot be read: %v", err)
		}
		return hook.JSON(answer(asked))
	})
}

// Parse reads an object.
func (s *Scenario) Parse(manifest string) Object {
	s.Helper()
	var object Object
	if err := yaml.Unmarshal([]byte(s.Text(manifest)), &object); err != nil {
		s.Fatalf("%v in the manifest\n%s", err, manifest)
	}
	return object
}

// Create creates the objects of a manifest. Controllers are deleted at the end of the test.
func (s *Scenario) Create(manifest string) (last *unstructured.Unstructured) {
	s.Helper()
	for _, document := range strings.Split(manifest, "\n---\n") {
		object := &unstructured.Unstructured{Object: s.Parse(document)}
		isController := object.GroupVersionKind().GroupVersion() == v1alpha1.SchemeGroupVersion
		if isController {
			s.setEngine(object)
		}
		client := s.client(object.GetAPIVersion(), object.GetKind(), object.GetNamespace())
		created, err := client.Create(s.Context(), object, metav1.CreateOptions{})
		if err != nil {
			s.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if isController {
			s.Cleanup(func() {
				err := client.Delete(context.WithoutCancel(s.Context()), created.GetName(), metav1.DeleteOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					s.Errorf("delete %s %s: %v", created.GetKind(), created.GetName(), err)
				}
			})
		}
		last = created
	}
	return last
}

// setEngine sets the engine of the scenario for all children of a controller.
func (s *Scenario) setEngine(controller *unstructured.Unstructured) {
	rules, found, err := unstructured.NestedSlice(controller.Object, "spec", "childResources")
	if s.Engine == "" || !found || err != nil {
		return
	}
	for _, rule := range rules {
		if err := unstructured.SetNestedField(rule.(Object), string(s.Engine), "updateStrategy", "apply"); err != nil {
			s.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(controller.Object, rules, "spec", "childResources"); err != nil {
		s.Fatal(err)
	}
}

// client is for objects of a kind: those of a namespace, or cluster-scoped ones if it is empty.
func (s *Scenario) client(apiVersion, kind, namespace string) dynamic.ResourceInterface {
	s.Helper()
	version, err := schema.ParseGroupVersion(s.Text(apiVersion))
	if err != nil {
		s.Fatal(err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind))
	all := s.Env.Dynamic.Resource(resource)
	if namespace == "" {
		return all
	}
	return all.Namespace(s.Text(namespace))
}

// Patch applies a merge patch, in YAML.
func (s *Scenario) Patch(of Ref, patch string, subresources ...string) {
	s.Helper()
	body, err := yaml.YAMLToJSON([]byte(s.Text(patch)))
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.client(of.APIVersion, of.Kind, of.Namespace).Patch(s.Context(), s.Text(of.Name), types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	if err != nil {
		s.Fatalf("patch %s: %v", of, err)
	}
}

// Delete deletes an object.
func (s *Scenario) Delete(of Ref) {
	s.Helper()
	if err := s.client(of.APIVersion, of.Kind, of.Namespace).Delete(s.Context(), s.Text(of.Name), metav1.DeleteOptions{}); err != nil {
		s.Fatalf("delete %s: %v", of, err)
	}
}

// Get reads an object.
func (s *Scenario) Get(ctx context.Context, of Ref) (*unstructured.Unstructured, error) {
	return s.client(of.APIVersion, of.Kind, of.Namespace).Get(ctx, s.Text(of.Name), metav1.GetOptions{})
}

// Ref names an object. Cluster-scoped ones have no namespace.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// ConfigMap names a ConfigMap of the scenario's namespace.
func ConfigMap(name string) Ref {
	return Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "$NAMESPACE", Name: name}
}

// At reads a field of a request. It returns nil if the field is not there.
func At(asked Object, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(asked, path...)
	if err != nil {
		return nil
	}
	return value
}

func (r Ref) String() string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name) }
