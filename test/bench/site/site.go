// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package site is the work that all contestants of a benchmark do: a Site of the host cluster has pages, which are
// ConfigMaps.
package site

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API of sites.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

const (
	Group    = "bench.example.com"
	Version  = "v1"
	Kind     = "Site"
	Resource = "sites"
	// Namespace is where all sites are.
	Namespace = "bench"
	// SitesPath and PagesPath are where the host has them all.
	SitesPath = "/apis/" + Group + "/" + Version + "/namespaces/" + Namespace + "/" + Resource
	PagesPath = "/api/v1/namespaces/" + Namespace + "/configmaps"
	// Label names the site of a page.
	Label = Group + "/site"
	// ValueKey and FrontKey are where pages have what the site says.
	ValueKey, FrontKey = "value", "front"
)

// Site is a parent.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec says which pages a site has.
type Spec struct {
	Pages     int    `json:"pages"`
	PageBytes int    `json:"pageBytes"`
	Value     string `json:"value"`            // on all pages
	Front     string `json:"front,omitempty"`  // on the first page
	Filler    string `json:"filler,omitempty"` // makes the site as large as a benchmark wants it
}

// Status says what was done.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

// AddToScheme registers the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// DeepCopyObject implements runtime.Object.
func (s *Site) DeepCopyObject() runtime.Object {
	copied := &Site{TypeMeta: s.TypeMeta, Spec: s.Spec, Status: s.Status}
	s.DeepCopyInto(&copied.ObjectMeta)
	return copied
}

// DeepCopyObject implements runtime.Object.
func (l *SiteList) DeepCopyObject() runtime.Object {
	copied := &SiteList{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&copied.ListMeta)
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Site))
	}
	return copied
}

// PageName is the name of a page.
func PageName(site string, number int) string { return site + "-" + strconv.Itoa(number) }

// Pages are the pages that a site shall have.
func (s *Site) Pages() []*corev1.ConfigMap {
	pages := make([]*corev1.ConfigMap, s.Spec.Pages)
	for i := range pages {
		name := PageName(s.Name, i)
		pages[i] = &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{Label: s.Name}},
			Data:       map[string]string{ValueKey: s.Spec.Value, "text": Text(name, s.Spec.PageBytes)},
		}
		if i == 0 {
			pages[i].Data[FrontKey] = s.Spec.Front
		}
	}
	return pages
}

// letters are what texts are made of.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// random is a text that is not longer when compressed than six bits a letter ask for.
var random = func() string {
	source := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 4<<20)
	for i := range text {
		text[i] = letters[source.IntN(len(letters))]
	}
	return string(text)
}()

// Text is a text of so many bytes, another for each name. It takes next to no time to make.
func Text(name string, bytes int) string {
	hash := fnv.New32a()
	fmt.Fprint(hash, name)
	begin := int(hash.Sum32()) % (len(random) - bytes)
	return random[begin : begin+bytes]
}
