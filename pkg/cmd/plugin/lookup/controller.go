// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The kinds of controllers.
const (
	Composite = "CompositeController"
	Decorator = "DecoratorController"
)

// Object is a CompositeController or a DecoratorController.
type Object interface {
	metav1.Object
	runtime.Object
	ParentTypes() []v1alpha1.ResourceRule
	ChildTypes() []v1alpha1.ResourceRule
	GetStatus() *v1alpha1.ControllerStatus
}

// Controller is a stored controller, or one from a file.
type Controller struct {
	Kind string
	Object
	// Candidate is the JSON of the spec in a file; nil if the controller is stored. Path is the path of the file.
	Candidate []byte
	Path      string
}

// String returns the kind and name of the controller.
func (c *Controller) String() string { return c.Kind + " " + c.GetName() }

// Short returns the controller as an argument: cc/NAME or dec/NAME.
func (c *Controller) Short() string {
	if c.Kind == Decorator {
		return "dec/" + c.GetName()
	}
	return "cc/" + c.GetName()
}

// Resource returns the resource of the controller's kind.
func (c *Controller) Resource() string { return strings.ToLower(c.Kind) + "s" }

// Reference returns the controller as Syncs and HookCalls name it.
func (c *Controller) Reference() v1alpha1.ControllerReference {
	return v1alpha1.ControllerReference{Kind: c.Kind, Name: c.GetName()}
}

// IsPaused reports whether the spec of the controller pauses it.
func (c *Controller) IsPaused() bool {
	switch of := c.Object.(type) {
	case *v1alpha1.CompositeController:
		return ptr.Deref(of.Spec.Paused, false)
	case *v1alpha1.DecoratorController:
		return ptr.Deref(of.Spec.Paused, false)
	}
	return false
}

// InReview returns the controller as reviews name it.
func (c *Controller) InReview() v1alpha1.SyncReviewController {
	return v1alpha1.SyncReviewController{Kind: c.Kind, Name: c.GetName()}
}

// IsFor reports whether the controller's parents may be of a type.
func (c *Controller) IsFor(parents schema.GroupResource) bool {
	return slices.ContainsFunc(c.ParentTypes(), func(rule v1alpha1.ResourceRule) bool {
		return rule.GroupResource() == parents
	})
}

// Webhook returns the webhook of a hook: sync, finalize or customize. It is nil if the controller has none.
func (c *Controller) Webhook(name string) *v1alpha1.Webhook {
	if hook := c.Hook(name); hook != nil {
		return hook.Webhook
	}
	return nil
}

// Hook returns a hook: sync, finalize or customize. It is nil if the controller has none.
func (c *Controller) Hook(name string) *v1alpha1.Hook {
	var hooks v1alpha1.CompositeControllerHooks
	switch of := c.Object.(type) {
	case *v1alpha1.CompositeController:
		if of.Spec.Hooks != nil {
			hooks = *of.Spec.Hooks
		}
	case *v1alpha1.DecoratorController:
		if own := of.Spec.Hooks; own != nil {
			hooks.Sync, hooks.Finalize, hooks.Customize = own.Sync, own.Finalize, own.Customize
		}
	}
	return map[string]*v1alpha1.Hook{"sync": hooks.Sync, "finalize": hooks.Finalize, "customize": hooks.Customize}[name]
}

// kindOf returns the kind of controllers for a type in an argument; empty if it is another type.
func kindOf(argument string) string {
	switch strings.TrimSuffix(strings.ToLower(argument), "."+v1alpha1.GroupName) {
	case "cc", "cctl", "compositecontroller", "compositecontrollers":
		return Composite
	case "dec", "decorator", "decorators", "decoratorcontroller", "decoratorcontrollers":
		return Decorator
	}
	return ""
}

// IsController reports whether an argument is a controller: in the form TYPE/NAME, or as a name alone. Parents without
// a controller have a type.
func IsController(argument string) bool {
	of, _, ok := strings.Cut(argument, "/")
	return !ok || kindOf(of) != ""
}

// IsTypedController reports whether an argument is a controller in the form TYPE/NAME.
func IsTypedController(argument string) bool {
	of, _, ok := strings.Cut(argument, "/")
	return ok && kindOf(of) != ""
}

// Split returns the controller that the first argument names, or nil if it names a parent, and the parents.
func (l *Lookup) Split(ctx context.Context, args []string) (controller *Controller, parents []string, err error) {
	if len(args) == 0 || !IsController(args[0]) {
		return nil, args, nil
	}
	controller, err = l.Controller(ctx, args[0])
	return controller, args[1:], err
}

// Controller returns the controller that an argument names: TYPE/NAME, or NAME if only one kind has it.
func (l *Lookup) Controller(ctx context.Context, argument string) (*Controller, error) {
	of, name, typed := strings.Cut(argument, "/")
	if !typed {
		of, name = "", argument
	}
	kind := kindOf(of)
	switch {
	case typed && kind == "":
		return nil, fmt.Errorf("%q is not a controller: specify it as cc/NAME or dec/NAME", argument)
	case kind != "":
		return l.controller(ctx, kind, name)
	}
	composite, err := l.controller(ctx, Composite, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	decorator, other := l.controller(ctx, Decorator, name)
	switch {
	case err == nil && other == nil:
		return nil, fmt.Errorf("a CompositeController and a DecoratorController %q exist: specify cc/%s or dec/%s",
			name, name, name)
	case err == nil && apierrors.IsNotFound(other):
		return composite, nil
	case apierrors.IsNotFound(err) && apierrors.IsNotFound(other):
		return nil, fmt.Errorf("controller %q not found; specify a parent as TYPE/NAME", name)
	}
	return decorator, other
}

func (l *Lookup) controller(ctx context.Context, kind, name string) (*Controller, error) {
	var object Object
	var err error
	if kind == Composite {
		object, err = l.client.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, name, metav1.GetOptions{})
	} else {
		object, err = l.client.MetacontrollerV1alpha1().DecoratorControllers().Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	return &Controller{Kind: kind, Object: object}, nil
}

// Controllers returns all controllers, CompositeControllers first.
func (l *Lookup) Controllers(ctx context.Context) ([]*Controller, error) {
	composites, err := l.client.MetacontrollerV1alpha1().CompositeControllers().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	decorators, err := l.client.MetacontrollerV1alpha1().DecoratorControllers().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []*Controller
	for i := range composites.Items {
		all = append(all, &Controller{Kind: Composite, Object: &composites.Items[i]})
	}
	for i := range decorators.Items {
		all = append(all, &Controller{Kind: Decorator, Object: &decorators.Items[i]})
	}
	return all, nil
}

// IsOwnAPI reports whether details of an error are about the API of metacontroller-apiserver.
func IsOwnAPI(details *metav1.StatusDetails) bool { return details.Group == v1alpha1.GroupName }

// Manifest is an object in a file.
type Manifest struct {
	*unstructured.Unstructured
	// Path is the path or URL of the file, or STDIN.
	Path string
}

// Read returns the objects in files in order, as kubectl reads them, without access to a cluster.
func Read(files resource.FilenameOptions) ([]Manifest, error) {
	if files.RequireFilenameOrKustomize() != nil {
		return nil, nil
	}
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &files).Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	all := make([]Manifest, 0, len(infos))
	for _, info := range infos {
		all = append(all, Manifest{Unstructured: info.Object.(*unstructured.Unstructured), Path: info.Source})
	}
	return all, nil
}

// Controller returns the object as a controller; nil if it is another object.
func (m *Manifest) Controller() (*Controller, error) {
	if m.GroupVersionKind().Group != v1alpha1.GroupName {
		return nil, nil
	}
	controller := &Controller{Kind: m.GetKind(), Path: m.Path}
	switch controller.Kind {
	case Composite:
		controller.Object = &v1alpha1.CompositeController{}
	case Decorator:
		controller.Object = &v1alpha1.DecoratorController{}
	default:
		return nil, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object, controller.Object); err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", m.Path, m.GetKind(), m.GetName(), err)
	}
	var err error
	controller.Candidate, err = json.Marshal(m.Object["spec"])
	return controller, err
}
