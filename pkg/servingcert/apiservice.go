// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

func apiServicesResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
}

// apiService is the part of an APIService that concerns the certificate. The zero value is one that does not exist.
type apiService struct {
	name   string
	exists bool
	// version is its resource version.
	version  string
	caBundle []byte
	// isOurs is true if it refers to our Service. Otherwise the host or another server serves the API.
	isOurs bool
	// isInsecure is true if the host checks no certificate.
	isInsecure bool
}

func (p *SecretProvider) readAPIService(ctx context.Context, name string) (apiService, error) {
	found, err := p.config.Dynamic.Resource(apiServicesResource()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && name != p.config.APIService {
		return apiService{}, nil
	}
	if err != nil {
		return apiService{}, fmt.Errorf("reading APIService %s: %w", name, err)
	}
	read := apiService{name: name, exists: true, version: found.GetResourceVersion()}
	encoded, _, _ := unstructured.NestedString(found.Object, "spec", "caBundle")
	if read.caBundle, err = base64.StdEncoding.DecodeString(encoded); err != nil {
		read.caBundle = nil // it is replaced
	}
	read.isInsecure, _, _ = unstructured.NestedBool(found.Object, "spec", "insecureSkipTLSVerify")
	namespace, _, _ := unstructured.NestedString(found.Object, "spec", "service", "namespace")
	service, _, _ := unstructured.NestedString(found.Object, "spec", "service", "name")
	read.isOurs = namespace == p.config.Namespace && service == p.config.Service
	return read, nil
}

// publish makes the caBundle of an APIService name exactly these authorities. publish does not change an APIService
// that does not exist yet, that checks no certificates, or that refers to another server.
func (p *SecretProvider) publish(ctx context.Context, service apiService, authorities []*x509.Certificate) error {
	bundle := encodeCerts(authorities)
	switch {
	case !service.exists, bytes.Equal(service.caBundle, bundle):
		return nil
	case !service.isOurs, service.isInsecure:
		klog.FromContext(ctx).Info("Not changing the caBundle of the APIService, because it refers to another "+
			"Service, or sets insecureSkipTLSVerify",
			"apiService", service.name, "service", klog.KRef(p.config.Namespace, p.config.Service))
		return nil
	case !p.mayWrite():
		return fmt.Errorf("the caBundle of APIService %s keeps changing: find the other writer in its "+
			"metadata.managedFields", service.name)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": service.version},
		"spec":     map[string]any{"caBundle": bundle},
	})
	if err != nil {
		return err
	}
	if _, err := p.config.Dynamic.Resource(apiServicesResource()).Patch(ctx, service.name, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("writing spec.caBundle of APIService %s: %w", service.name, err)
	}
	p.countWrite()
	klog.FromContext(ctx).Info("Wrote the caBundle of the APIService", "apiService", service.name, "authorities",
		len(authorities))
	return nil
}
