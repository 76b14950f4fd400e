// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// newController is a valid object for the API.
func newController(name string) *v1alpha1.CompositeController {
	url := "http://hook.example.com/sync"
	controller := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name}}
	controller.Spec.ParentResource.APIVersion = "example.com/v1"
	controller.Spec.ParentResource.Resource = "things"
	controller.Spec.Hooks = &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}}
	return controller
}

func TestObjectsOutliveARestart(t *testing.T) {
	clients := newClientAuthority(t)
	config := serverConfig{dataDir: newDataDir(t), clientCA: clients.file}
	server := start(t, config)
	controllers := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers()
	created, err := controllers.Create(t.Context(), newController("kept"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	authority := readFile(t, server.caFile())
	if err := server.shutDown(t); err != nil {
		t.Fatalf("Run: %v", err)
	}

	again := start(t, config)
	controllers = again.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers()
	kept, err := controllers.Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "UID", kept.UID, created.UID)
	want(t, "resourceVersion", kept.ResourceVersion, created.ResourceVersion)
	want(t, "authority", string(readFile(t, again.caFile())), string(authority))
}

func TestASecondServerOnOneDataDirectoryFailsAtOnce(t *testing.T) {
	config := serverConfig{dataDir: newDataDir(t)}
	start(t, config)
	var locked *etcd.LockedError
	if err := launch(t, config).wait(t); !errors.As(err, &locked) {
		t.Errorf("error %v, want one about the lock", err)
	}
}

func TestServersCanShareAStorageOutside(t *testing.T) {
	storage := startEtcd(t)
	clients := newClientAuthority(t)
	newConfig := func() serverConfig {
		return serverConfig{dataDir: newDataDir(t), clientCA: clients.file, given: []string{"shutdown-delay-duration"}, options: func(o *Options) {
			o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{storage.Endpoint()}
		}}
	}
	first, second := start(t, newConfig()), start(t, newConfig())
	watch, err := second.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := first.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		Create(t.Context(), newController("shared"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if event := <-watch.ResultChan(); event.Object.(metav1.Object).GetName() != "shared" {
		t.Errorf("the other server shows %v", event)
	}
	for _, server := range []*testServer{first, second} {
		if err := server.shutDown(t); err != nil {
			t.Errorf("Run: %v", err)
		}
		if _, err := os.Stat(filepath.Join(server.dataDir, "etcd")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an embedded etcd was started as well: %v", err)
		}
	}
}

func TestHealthIsForEverybody(t *testing.T) {
	server := start(t, serverConfig{dataDir: newDataDir(t)})
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		mustGet(t, server.anonymous(t), server.url(path), http.StatusOK)
	}
	body, _ := mustGet(t, server.anonymous(t), server.url("/readyz?verbose"), http.StatusOK)
	for _, check := range []string{"etcd", "etcd-readiness", "serving-certificate", "poststarthook/storage-readiness"} {
		if !strings.Contains(body, "[+]"+check+" ok") {
			t.Errorf("/readyz has no check %s:\n%s", check, body)
		}
	}
	mustGet(t, server.anonymous(t), server.url("/metrics"), http.StatusForbidden)
}

func TestMetricsOfAllPartsAreShownOnce(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	admin := server.client(t, clients.admin(t))
	if _, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}

	body, _ := mustGet(t, admin, server.url("/metrics"), http.StatusOK)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body)) // an error if a family comes twice
	if err != nil {
		t.Fatal(err)
	}
	for part, family := range map[string]string{
		"API server":          "apiserver_request_total",
		"embedded etcd":       "etcd_mvcc_db_total_size_in_bytes",
		"client of the etcd":  "etcd_request_duration_seconds",
		"process":             "process_resident_memory_bytes",
		"Go runtime":          "go_goroutines",
		"work queues":         "workqueue_depth",
		"serving certificate": "metacontroller_serving_certificate_expiration_timestamp_seconds",
	} {
		if families[family] == nil {
			t.Errorf("metrics of the %s are missing: no %s", part, family)
		}
	}
	if end := families["metacontroller_serving_certificate_expiration_timestamp_seconds"]; end.GetMetric()[0].GetGauge().GetValue() == 0 {
		t.Error("the end of the serving certificate is not known")
	}
}

func TestTheAPIIsDescribed(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	resources, err := server.clientset(t, clients.admin(t)).Discovery().ServerResourcesForGroupVersion("metacontroller.k8s.io/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, resource := range resources.APIResources {
		names = append(names, resource.Name)
	}
	for _, resource := range storedResourceNames() {
		if !slices.Contains(names, resource) || !slices.Contains(names, resource+"/status") {
			t.Errorf("resources %v lack %s or its status", names, resource)
		}
	}
	admin := server.client(t, clients.admin(t))
	for path, part := range map[string]string{
		"/openapi/v2": `"io.k8s.metacontroller.v1alpha1.CompositeController"`,
		"/openapi/v3/apis/metacontroller.k8s.io/v1alpha1": `"io.k8s.metacontroller.v1alpha1.CompositeController"`,
	} {
		if body, _ := mustGet(t, admin, server.url(path), http.StatusOK); !strings.Contains(body, part) {
			t.Errorf("%s does not have %s", path, part)
		}
	}
}

func storedResourceNames() []string {
	return []string{"compositecontrollers", "decoratorcontrollers", "controllerrevisions"}
}

func TestOnlyTextIsSpoken(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	admin := server.client(t, clients.admin(t))
	list := server.url("/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers")
	const protobuf = "application/vnd.kubernetes.protobuf"

	_, header := mustGet(t, admin, list, http.StatusOK, "Accept", protobuf+",application/json")
	want(t, "answer to a client that prefers protobuf", header.Get("Content-Type"), "application/json")
	_, header = mustGet(t, admin, list, http.StatusOK, "Accept", "application/yaml")
	want(t, "answer to a client that wants YAML", header.Get("Content-Type"), "application/yaml")
	mustGet(t, admin, list, http.StatusNotAcceptable, "Accept", protobuf)
	mustGet(t, admin, server.url("/apis"), http.StatusNotAcceptable, "Accept", protobuf)
}

// As the host's garbage collector and namespace controller do it: they ask for metadata alone, in
// protobuf if possible.
func TestMetadataCanBeReadAlone(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	if _, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		Create(t.Context(), newController("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(&rest.Config{Host: server.url("")}), server.client(t, clients.admin(t)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(v1alpha1.SchemeGroupVersion.WithResource("compositecontrollers")).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Name != "a" || list.Items[0].UID == "" {
		t.Errorf("got %v", list.Items)
	}
}

func TestWhoIsNotKnownMayDoNothing(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	somebody := server.clientset(t, clients.client(t, "somebody"))
	if _, err := somebody.Discovery().ServerResourcesForGroupVersion("metacontroller.k8s.io/v1alpha1"); err != nil {
		t.Errorf("somebody cannot see which APIs there are: %v", err)
	}
	_, err := somebody.MetacontrollerV1alpha1().CompositeControllers().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want Forbidden", err)
	}
	mustGet(t, server.anonymous(t), server.url("/apis"), http.StatusForbidden)
}

func TestCertificatesThatAreGivenAreServed(t *testing.T) {
	authority := newClientAuthority(t)
	dir := newDataDir(t)
	cert := authority.client(t, "given")
	writePair(t, cert, dir+"/tls.crt", dir+"/tls.key")
	server := launch(t, serverConfig{dataDir: dir, options: func(o *Options) {
		o.Recommended.SecureServing.ServerCert.CertKey.CertFile = dir + "/tls.crt"
		o.Recommended.SecureServing.ServerCert.CertKey.KeyFile = dir + "/tls.key"
	}})
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", server.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if !bytes.Equal(connection.ConnectionState().PeerCertificates[0].Raw, cert.Certificate[0]) {
		t.Error("another certificate is served")
	}
	if _, err := os.Stat(server.caFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an authority was made that nobody needs: %v", err)
	}
}
