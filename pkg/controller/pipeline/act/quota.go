// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// exceeded matches the message of ResourceQuota about a request. The message lists the exceeded resources.
var exceeded = regexp.MustCompile(`exceeded quota: \S+, requested: (\S+), used: (\S+), limited: (\S+)$`)

// quotaDenial has the amounts in the message of ResourceQuota about an object that it denies.
type quotaDenial struct {
	requested, used, limited corev1.ResourceList
}

// denialOf parses the message of a quota in an error; nil if no quota denied the request.
func denialOf(err error) *quotaDenial {
	match := exceeded.FindStringSubmatch(err.Error())
	if match == nil {
		return nil
	}
	return &quotaDenial{amounts(match[1]), amounts(match[2]), amounts(match[3])}
}

// amounts parses a list such as "pods=1,requests.cpu=500m". It leaves out amounts that it cannot read.
func amounts(text string) corev1.ResourceList {
	of := corev1.ResourceList{}
	for part := range strings.SplitSeq(text, ",") {
		name, amount, _ := strings.Cut(part, "=")
		if quantity, err := resource.ParseQuantity(amount); err == nil {
			of[corev1.ResourceName(name)] = quantity
		}
	}
	return of
}

// fits reports whether the denied object has room once the quota no longer counts these amounts.
func (d *quotaDenial) fits(freed corev1.ResourceList) bool {
	for name, needed := range d.requested {
		free, isFreed := freed[name]
		used, isUsed := d.used[name]
		limited, isLimited := d.limited[name]
		if !isFreed || !isUsed || !isLimited || free.Cmp(used) > 0 {
			return false
		}
		used.Sub(free)
		used.Add(needed)
		if used.Cmp(limited) > 0 {
			return false
		}
	}
	return len(d.requested) > 0
}

// isOnly reports whether the replacement of a child counts for no more than the child, apart from the resources that
// the denial is about. The host names only one quota that denies an object. Another one may deny the replacement for
// another resource, even when the child is gone.
func (d *quotaDenial) isOnly(freed, needed corev1.ResourceList) bool {
	for name, amount := range needed {
		_, isAbout := d.requested[name]
		_, isAboutRequests := d.requested["requests."+name]
		_, isAboutShort := d.requested[corev1.ResourceName(strings.TrimPrefix(string(name), "requests."))]
		if free := freed[name]; !isAbout && !isAboutRequests && !isAboutShort && amount.Cmp(free) > 0 {
			return false
		}
	}
	return true
}

// usageOf returns the amounts that a quota, which denied the replacement of a child, counts for the child. It assumes
// that the quota has no scopes that distinguish the two. It is empty for a child that no quota counts, and for types
// whose usage is not known here.
func usageOf(child *object.Object, of schema.GroupKind, denied *quotaDenial) corev1.ResourceList {
	switch of {
	case schema.GroupKind{Kind: "Pod"}:
		return usageOfPod(child)
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return usageOfClaim(child)
	case schema.GroupKind{Kind: "Service"}:
		return usageOfService(child)
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}:
		return nil
	}
	return denied.requested // quotas only count objects of other types
}

// oneOf returns the usage of one object by the names under which quotas count it.
func oneOf(names ...corev1.ResourceName) corev1.ResourceList {
	usage := corev1.ResourceList{}
	for _, name := range names {
		usage[name] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	return usage
}

func usageOfPod(child *object.Object) corev1.ResourceList {
	pod, err := typed[corev1.Pod](child)
	if err != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	usage := oneOf("pods", "count/pods")
	for name, amount := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		usage[name], usage["requests."+name] = amount, amount
	}
	for name, amount := range resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}) {
		usage["limits."+name] = amount
	}
	return usage
}

func usageOfClaim(child *object.Object) corev1.ResourceList {
	claim, err := typed[corev1.PersistentVolumeClaim](child)
	if err != nil {
		return nil
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	usage := oneOf("persistentvolumeclaims", "count/persistentvolumeclaims")
	usage["requests.storage"] = size
	if name := ptr.Deref(claim.Spec.StorageClassName, ""); name != "" {
		class := corev1.ResourceName(name + ".storageclass.storage.k8s.io/")
		usage[class+"persistentvolumeclaims"], usage[class+"requests.storage"] = usage["persistentvolumeclaims"], size
	}
	return usage
}

func usageOfService(child *object.Object) corev1.ResourceList {
	service, err := typed[corev1.Service](child)
	if err != nil {
		return nil
	}
	names, allocates := []corev1.ResourceName{"services", "count/services"}, false
	switch service.Spec.Type {
	case corev1.ServiceTypeLoadBalancer:
		names = append(names, "services.loadbalancers")
		allocates = ptr.Deref(service.Spec.AllocateLoadBalancerNodePorts, true)
	case corev1.ServiceTypeNodePort:
		allocates = true
	}
	usage, ports := oneOf(names...), 0
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 || allocates {
			ports++
		}
	}
	usage["services.nodeports"] = *resource.NewQuantity(int64(ports), resource.DecimalSI)
	return usage
}

// typed returns a child as its Go type.
func typed[T any](child *object.Object) (*T, error) {
	content, err := child.Decode()
	if err != nil {
		return nil, err
	}
	into := new(T)
	return into, runtime.DefaultUnstructuredConverter.FromUnstructured(content, into)
}
