// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Object is JSON as hooks read and write it.
type Object = hook.Object

// Fixture is what a test about one controller works with. Parents are the objects that the
// controller is for: the parents of a CompositeController or the targets of a DecoratorController.
// Its children are ConfigMaps unless the test says otherwise.
//
//	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, handler))
//	f.RunComposite(f.CompositeSpec())
//	f.CreateParent("a", harness.Object{"value": "1"})
//	f.WaitForConfigMap("a", harness.HasData("value", "1"))
//
// A copy of a fixture is a fixture for another controller, hook or type.
type Fixture struct {
	*testing.T
	Env        *Env
	Parents    schema.GroupVersionResource
	Hook       *hook.Server
	Namespace  string     // empty if parents are cluster-scoped
	Controller Controller // set by RunComposite and RunDecorator
}

// NewFixture installs the type of the parents and creates a namespace. The fixture has no
// controller yet.
func NewFixture(t *testing.T, env *Env, parents CRD, server *hook.Server) Fixture {
	t.Helper()
	return Fixture{T: t, Env: env, Parents: env.Install(t, parents), Hook: server, Namespace: env.Namespace(t)}
}

// Paths of the hooks of a fixture's controller.
const (
	SyncPath      = "/sync"
	FinalizePath  = "/finalize"
	CustomizePath = "/customize"
)

// hookAt returns a hook that calls the fixture's server at a path.
func (f *Fixture) hookAt(path string) *v1alpha1.Hook {
	return &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(f.Hook.URL(path))}}
}

// InlineHook returns a hook that is written in the controller.
func InlineHook(t testing.TB, template string) *v1alpha1.Hook {
	t.Helper()
	made := &v1alpha1.Hook{Inline: &v1alpha1.InlineHook{}}
	if err := yaml.UnmarshalStrict([]byte(template), made.Inline); err != nil {
		t.Fatal(err)
	}
	return made
}

// HookBeside returns a hook of the server that serves a sync hook, at another path.
func HookBeside(sync *v1alpha1.Hook, path string) *v1alpha1.Hook {
	url := strings.TrimSuffix(*sync.Webhook.URL, SyncPath) + path
	return &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}
}

// Engines are the ways of applying children.
func Engines() []v1alpha1.ChildApplyStrategy {
	return []v1alpha1.ChildApplyStrategy{v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide}
}
