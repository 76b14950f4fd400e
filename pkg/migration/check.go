// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// Check reports the progress of the migration, the problems that block Switch, and the differences after it. It does
// not write, and does not need the server. It returns an error if there are such problems.
func (m *Migration) Check(ctx context.Context) error {
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	is, next := now.describe()
	m.say("%s", is)
	if err := m.workloads.sayBeside(ctx, now); err != nil {
		return err
	}
	if now.side == inDefinitions && !now.isInterrupted() {
		if err := m.check(ctx, now, false); err != nil {
			return err
		}
		m.say("No problem blocks the migration.")
	}
	m.say("Next: %s", next)
	return nil
}

// checkBack returns an error if something stands in the way of Back.
func (m *Migration) checkBack(ctx context.Context, now *state) error {
	for _, of := range now.definitions {
		if err := of.unfit(); err != nil {
			return err
		}
	}
	all, err := m.copier.read(ctx, servedVersion, kinds())
	if err == nil {
		err = all.deleting()
	}
	if err != nil {
		return err
	}
	if inline := withInline(all); len(inline) > 0 {
		return fmt.Errorf("these controllers have inline hooks, which Metacontroller does not call, so it would remove "+
			"finalizers without them: %s; replace the hooks with webhooks of version v2", text.JoinFirst(maxNamed, inline))
	}
	dependents, err := m.dependents(ctx, all)
	if err == nil && dependents != "" {
		err = errors.New(dependents)
	}
	return err
}

// withInline returns the names of the controllers that have inline hooks.
func withInline(all objects) (found []string) {
	for name, of := range all {
		if slices.ContainsFunc(hooksOf(of), func(hook *v1alpha1.Hook) bool { return hook.Inline != nil }) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// hooksOf returns the hooks of a controller.
func hooksOf(of object) (hooks []*v1alpha1.Hook) {
	all, _, _ := unstructured.NestedMap(of.Object, "spec", "hooks")
	for _, item := range all {
		hook := &v1alpha1.Hook{}
		fields, _ := item.(map[string]any)
		if fields != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, hook) == nil {
			hooks = append(hooks, hook)
		}
	}
	return hooks
}

// check has the findings about a cluster.
type check struct {
	*Migration
	now *state
	// found has facts, differs behavior that differs from Metacontroller, warns what a user should look at, and blocks
	// problems that must be solved first.
	found, differs, warns, blocks sets.Set[string]
	// namespaces are those in which Metacontroller runs.
	namespaces []string
}

// check makes all checks. needsServer is true if the server must already be installed.
func (m *Migration) check(ctx context.Context, now *state, needsServer bool) error {
	c := &check{Migration: m, now: now, found: sets.Set[string]{}, differs: sets.Set[string]{}, warns: sets.Set[string]{},
		blocks: sets.Set[string]{}}
	if err := sequence(ctx, c.findDefinitions, c.findOriginal, c.findObjects); err != nil {
		return err
	}
	withoutServer := c.warns
	if needsServer {
		withoutServer = c.blocks
	}
	if err := c.findServer(ctx, withoutServer); err != nil {
		return err
	}
	return c.report()
}

// report prints the findings. It returns an error if something blocks the migration.
func (c *check) report() error {
	for _, of := range []struct {
		title string
		lines sets.Set[string]
	}{{"Found", c.found}, {"Different from Metacontroller", c.differs}, {"Warnings", c.warns}, {"Problems", c.blocks}} {
		if len(of.lines) > 0 {
			c.say("%s:\n  %s", of.title, strings.Join(sets.List(of.lines), "\n  "))
		}
	}
	if len(c.blocks) > 0 {
		return fmt.Errorf("the migration is blocked by %s: see above", counted(len(c.blocks), "problem"))
	}
	return nil
}

// findDefinitions checks the definitions, and the discovery of the cluster.
func (c *check) findDefinitions(ctx context.Context) error {
	if len(c.now.definitions) == 0 {
		c.blocks.Insert("no CustomResourceDefinitions of Metacontroller found, so nothing has to be moved: install the " +
			"server")
	}
	for _, of := range c.now.definitions {
		if err := of.unfit(); err != nil {
			c.blocks.Insert(err.Error())
		}
	}
	if c.now.leadsHere || c.now.service == nil {
		return nil
	}
	if err := c.switcher.discovered(ctx, inDefinitions); err != nil {
		c.blocks.Insert(fmt.Sprintf("%s, so no namespace can be deleted, and kubectl does not find the kinds. "+
			"kube-apiserver repairs this when it creates a new APIService; nothing is lost. Run kubectl delete apiservice %s",
			err, apiServiceName))
	}
	return nil
}

// findOriginal finds the workloads of Metacontroller.
func (c *check) findOriginal(ctx context.Context) error {
	workloads, err := c.workloads.find(ctx)
	if err != nil {
		return err
	}
	if len(workloads) == 0 && c.config.Original != NoWorkload {
		c.blocks.Insert("no workload has the command or the image of Metacontroller. Specify the workload with " +
			"--original=deployment/NAMESPACE/NAME or statefulset/NAMESPACE/NAME, or stop it yourself and use --original=none")
	}
	for _, of := range workloads {
		c.namespaces = append(c.namespaces, of.Namespace)
		c.found.Insert(
			fmt.Sprintf("Metacontroller runs as %s, with %s", of, counted(int(of.replicas), "replica")),
			fmt.Sprintf("Metacontroller runs with the arguments %s", strings.Join(of.args, " ")))
	}
	return nil
}

// findServer adds the missing parts of the server to the findings.
func (c *check) findServer(ctx context.Context, findings sets.Set[string]) error {
	named := c.config.Service
	service, err := c.kube.CoreV1().Services(named.Namespace).Get(ctx, named.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		findings.Insert(fmt.Sprintf("the server is not installed: Service %s not found. Install it, without its APIService, "+
			"before migrate switch", named))
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the Service of the server: %w", err)
	}
	list, err := c.kube.DiscoveryV1().EndpointSlices(named.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + named.Name})
	if err != nil {
		return fmt.Errorf("read the endpoints of the server: %w", err)
	}
	isReady := func(of discoveryv1.Endpoint) bool { return ptr.Deref(of.Conditions.Ready, true) }
	hasReady := func(of discoveryv1.EndpointSlice) bool { return slices.ContainsFunc(of.Endpoints, isReady) }
	if len(service.Spec.Selector) > 0 && !slices.ContainsFunc(list.Items, hasReady) {
		findings.Insert(fmt.Sprintf("no Pod behind the Service %s of the server is ready", named))
	}
	return nil
}

// findObjects checks all objects, unless problems that are known may keep them from being read.
func (c *check) findObjects(ctx context.Context) error {
	from := servedVersion
	switch {
	case len(c.blocks) > 0:
		return nil
	case c.now.leadsHere:
		from = copyVersion
		if c.switcher.listed(ctx, from, kinds()) != nil {
			c.warns.Insert("the objects of the CustomResourceDefinitions cannot be read, because the APIService refers to the " +
				"server: migrate switch makes them readable and checks them")
			return nil
		}
	}
	all, err := c.copier.read(ctx, from, kinds())
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, of := range all {
		counts[of.name]++
	}
	for _, kind := range kinds() {
		c.found.Insert(counted(counts[kind.name], kind.name))
	}
	if err := all.deleting(); err != nil {
		c.blocks.Insert(err.Error())
	}
	dependents, err := c.dependents(ctx, all)
	if err != nil {
		return err
	}
	if dependents != "" {
		c.blocks.Insert(dependents)
	}
	return c.findDifferences(all)
}

// findDifferences finds objects that the server refuses, and behavior that differs from Metacontroller.
func (c *check) findDifferences(all objects) error {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return err
	}
	for name, of := range all {
		typed, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(of.name))
		if err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content(of).Object, typed); err != nil {
			c.blocks.Insert(fmt.Sprintf("%s: the server cannot read it: %s", name, err))
			continue
		}
		scheme.Default(typed)
		var invalid field.ErrorList
		switch typed := typed.(type) {
		case *v1alpha1.CompositeController:
			invalid = validation.ValidateCompositeController(typed)
			c.ofComposite(name, typed)
		case *v1alpha1.DecoratorController:
			invalid = validation.ValidateDecoratorController(typed)
			c.ofDecorator(name, typed)
		case *v1alpha1.ControllerRevision:
			invalid = validation.ValidateControllerRevision(typed)
		}
		if len(invalid) > 0 {
			c.blocks.Insert(fmt.Sprintf("%s: the server does not accept it: %s", name, invalid.ToAggregate()))
		}
		c.ofHooks(of)
	}
	return nil
}

// ofComposite reports how the behavior of a CompositeController will differ. docs/compatibility.md also lists rare
// differences.
func (c *check) ofComposite(name string, of *v1alpha1.CompositeController) {
	for _, child := range of.Spec.ChildResources {
		if child.UpdateStrategy.Rolls() {
			c.differs.Insert(fmt.Sprintf("%s: the server updates all %s one by one, even if a rolling update is already in "+
				"progress; Metacontroller stops after the first child (Q2)", name, child.Resource))
		}
	}
}

// ofDecorator reports how the behavior of a DecoratorController will differ.
func (c *check) ofDecorator(name string, of *v1alpha1.DecoratorController) {
	seen := sets.Set[schema.GroupResource]{}
	for _, rule := range of.Spec.Resources {
		if seen.Has(rule.GroupResource()) {
			c.differs.Insert(fmt.Sprintf("%s: %s are listed twice: the server selects an object if any of the rules "+
				"selects it; Metacontroller uses only the last rule (Q41)", name, rule.Resource))
		}
		seen.Insert(rule.GroupResource())
	}
}

// ofHooks reports how hooks will differ. It warns of hooks whose host is one word: a Service in the namespace of
// Metacontroller, which the server does not find from another namespace.
func (c *check) ofHooks(of object) {
	if _, finalizes, _ := unstructured.NestedMap(of.Object, "spec", "hooks", "finalize"); finalizes {
		c.differs.Insert(fmt.Sprintf("%s: it gets the finalizer %s; when you delete it, the server first removes its own "+
			"finalizer from its parents (Q13)", of, v1alpha1.DrainFinalizer))
	}
	if _, customizes, _ := unstructured.NestedMap(of.Object, "spec", "hooks", "customize"); customizes {
		c.differs.Insert(fmt.Sprintf("%s: the server also calls its customize hook when labels or annotations of a "+
			"parent change (Q26), and syncs its parents when labels of namespaces change (Q28)", of))
	}
	for _, hook := range hooksOf(of) {
		if hook.Webhook == nil {
			continue
		}
		host := hook.Webhook.Address().DialedHost()
		if host == "" || host == "localhost" || strings.ContainsAny(host, ".:") {
			continue
		}
		for _, from := range c.namespaces {
			if server := c.config.Service.Namespace; from != server {
				c.warns.Insert(fmt.Sprintf("%s: the host %q of a hook has no namespace. It resolves in %s, where "+
					"Metacontroller runs, but not in %s, where the server runs: write %s.%s", of, host, from, server, host, from))
			}
		}
	}
}

// dependents names the objects that have owner references with the UIDs of some objects; "" if there are none. The
// copies have other UIDs, so the garbage collector would delete the dependents.
func (m *Migration) dependents(ctx context.Context, all objects) (string, error) {
	owners := sets.Set[types.UID]{}
	for _, of := range all {
		owners.Insert(of.GetUID())
	}
	lists, err := m.kube.Discovery().ServerPreferredResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return "", fmt.Errorf("discover the types of the cluster: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get", "delete"}}, lists)
	resources, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return "", err
	}
	var found []string
	for resource := range resources {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return m.metadata.Resource(resource).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
			of := item.(*metav1.PartialObjectMetadata)
			if slices.ContainsFunc(of.OwnerReferences, func(owner metav1.OwnerReference) bool { return owners.Has(owner.UID) }) {
				found = append(found, named(resource.GroupResource().String(), of.Namespace, of.Name))
			}
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err):
			m.say("cannot check whether controllers own %s: %s", resource.GroupResource(), err)
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	slices.Sort(found)
	return "these objects have owners that get new UIDs, so the garbage collector would delete them: " +
		text.JoinFirst(maxNamed, found) + "; remove their metadata.ownerReferences", nil
}
