// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// At the end, the controllers go first, while the API answers; then the API, while the storage is
// there; then the storage.
func TestPartsStopInTheOrderThatLosesNothing(t *testing.T) {
	clients := newClientAuthority(t)
	running := make(chan struct{})
	controllersStopped := make(chan error, 1)
	requestArrived, letRequestGo := make(chan struct{}), make(chan struct{})
	config := serverConfig{dataDir: newDataDir(t), clientCA: clients.file, adjust: func(config *apiserver.Config) {
		config.ExtraConfig.RunControllers = func(ctx context.Context, loopback *rest.Config) error {
			close(running)
			<-ctx.Done()
			controllersStopped <- writeWith(loopback, "last-write-of-controllers")
			return nil
		}
		holdRequests(config, requestArrived, letRequestGo)
	}}
	server := start(t, config)
	<-running

	// A request that is under way when the server begins to stop.
	requested := make(chan error, 1)
	go func() {
		_, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
			Create(context.Background(), newController("held-request"), metav1.CreateOptions{})
		requested <- err
	}()
	<-requestArrived
	server.stop()
	if err := <-controllersStopped; err != nil {
		t.Errorf("the API was gone before the controllers had stopped: %v", err)
	}
	// The API is draining now. It must wait for the request, and the storage for the API.
	var locked *etcd.LockedError
	if err := launch(t, serverConfig{dataDir: config.dataDir}).wait(t); !errors.As(err, &locked) {
		t.Errorf("the storage was closed while a request was under way: %v", err)
	}
	close(letRequestGo)
	if err := <-requested; err != nil {
		t.Errorf("a request that was under way failed: %v", err)
	}
	if err := server.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}

	again := start(t, serverConfig{dataDir: config.dataDir, clientCA: clients.file})
	for _, name := range []string{"last-write-of-controllers", "held-request"} {
		if _, err := again.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
			Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("an acknowledged write is lost: %v", err)
		}
	}
}

func TestAWatchEndsCleanlyAtShutdown(t *testing.T) {
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file})
	watch, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	server.stop()
	for event := range watch.ResultChan() {
		t.Errorf("event %v instead of the end", event)
	}
	if err := server.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestControllersThatFailStopTheServer(t *testing.T) {
	server := launch(t, serverConfig{dataDir: newDataDir(t), adjust: func(config *apiserver.Config) {
		config.ExtraConfig.RunControllers = func(context.Context, *rest.Config) error {
			return errors.New("the host rejects us")
		}
	}})
	if err := server.wait(t); err == nil || !strings.Contains(err.Error(), "the host rejects us") {
		t.Errorf("Run returned %v, want the error of the controllers", err)
	}
}

// failingStorage is a storage that fails when the test says so.
type failingStorage struct {
	storage
	failure chan error
}

func (s failingStorage) Err() <-chan error { return s.failure }

func TestAStorageThatFailsStopsTheServer(t *testing.T) {
	failure := make(chan error, 1)
	controllersStopped := make(chan struct{})
	config := serverConfig{
		dataDir: newDataDir(t),
		storage: func(kept storage) storage { return failingStorage{kept, failure} },
		adjust: func(config *apiserver.Config) {
			config.ExtraConfig.RunControllers = func(ctx context.Context, _ *rest.Config) error {
				<-ctx.Done()
				close(controllersStopped)
				return nil
			}
		},
	}
	server := start(t, config)
	failure <- errors.New("the disk is gone")
	wantError(t, server.wait(t), "the disk is gone")
	<-controllersStopped
	start(t, serverConfig{dataDir: config.dataDir}) // it was closed all the same
}

func TestBeingToldToStopBeforeTheStorageStartsIsNoError(t *testing.T) {
	options := newTestOptions(t, serverConfig{dataDir: newDataDir(t)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := options.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestBeingToldToStopWhileWaitingForTheHostIsNoError(t *testing.T) {
	host := newFakeHost(t, newClientAuthority(t))
	config := host.serverConfig(t)
	options := newTestOptions(t, config)
	host.disappear()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- options.Run(ctx) }()
	eventually(t, func() error { // made before the host is asked
		_, err := os.Stat(filepath.Join(config.dataDir, "pki", "serving.crt"))
		return err
	})
	cancel()
	if err := <-result; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestNothingRunsOnAfterRunReturned(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ofProcess := goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/util/wait.Forever") // flushes the log for the check "log"
	clients := newClientAuthority(t)
	server := start(t, serverConfig{dataDir: newDataDir(t), clientCA: clients.file, adjust: func(config *apiserver.Config) {
		config.ExtraConfig.RunControllers = func(ctx context.Context, loopback *rest.Config) error {
			err := writeWith(loopback, "some-write")
			<-ctx.Done()
			return err
		}
	}})
	client := server.client(t, clients.admin(t))
	mustGet(t, client, server.url("/metrics"), http.StatusOK)
	if err := server.shutDown(t); err != nil {
		t.Fatalf("Run: %v", err)
	}
	client.CloseIdleConnections()
	// Some waits of the library end by their timeouts, of seconds, only.
	eventually(t, func() error { return goleak.Find(before, ofProcess) })
}

// writeWith creates an object as the controllers would.
func writeWith(config *rest.Config, name string) error {
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.MetacontrollerV1alpha1().CompositeControllers().Create(context.Background(), newController(name), metav1.CreateOptions{})
	return err
}

// holdRequests makes requests of others than the server itself wait inside the server, when they
// write.
func holdRequests(config *apiserver.Config, arrived chan<- struct{}, letGo <-chan struct{}) {
	build := config.GenericConfig.BuildHandlerChainFunc
	config.GenericConfig.BuildHandlerChainFunc = func(handler http.Handler, generic *genericapiserver.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.Host != genericapiserver.LoopbackClientServerNameOverride && r.TLS.ServerName != genericapiserver.LoopbackClientServerNameOverride {
				arrived <- struct{}{}
				<-letGo
			}
			handler.ServeHTTP(w, r)
		}), generic)
	}
}
