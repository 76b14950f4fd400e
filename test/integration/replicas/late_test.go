// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

const (
	// late is how long the cluster takes to answer, and lateFor is for how long it is so.
	late    = 3 * time.Second
	lateFor = 45 * time.Second
)

// lateTransport does requests at once, and returns the answers late.
type lateTransport struct {
	http.RoundTripper
	isLate atomic.Bool
}

func (l *lateTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if l.isLate.Load() {
		<-time.After(late)
	}
	return response, err
}

// lateCluster is the cluster, for a server that it takes for the user of a name. It returns the flag that leads there.
func (f *fleet) lateCluster(name string) (cluster *lateTransport, flag string) {
	f.Helper()
	credentials, err := env.Host.WriteKubeconfig(
		name, harness.ServerUser, "system:serviceaccounts", "system:authenticated", name)
	if err != nil {
		f.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", credentials)
	if err != nil {
		f.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		f.Fatal(err)
	}
	host, err := url.Parse(config.Host)
	if err != nil {
		f.Fatal(err)
	}
	cluster = &lateTransport{RoundTripper: transport}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(of *httputil.ProxyRequest) { of.SetURL(host) },
		Transport: cluster, FlushInterval: -1,
	})
	f.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	through := clientcmdapi.NewConfig()
	through.Clusters["host"] = &clientcmdapi.Cluster{Server: server.URL}
	through.Contexts["host"] = &clientcmdapi.Context{Cluster: "host"}
	through.CurrentContext = "host"
	path := filepath.Join(f.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*through, path); err != nil {
		f.Fatal(err)
	}
	return cluster, "--kubeconfig=" + path
}

// A renewal that the cluster has done counts, although its answer is late.
func TestTheLeaderKeepsItsLeaseWhileTheClusterAnswersLate(t *testing.T) {
	f := newFleet(t, 0)
	name := harness.Name("late")
	cluster, flag := f.lateCluster(name)
	first := f.start(flag)
	first.name = name
	f.serve()
	f.run(t, 2, 1)
	f.start()

	cluster.isLate.Store(true)
	from := env.AuditEnd(f)
	for since, edit := time.Now(), 1; time.Since(since) < lateFor; edit++ {
		f.edit(strconv.Itoa(edit))
		f.waitForEdit(strconv.Itoa(edit))
	}
	if now, err := f.leader(t.Context(), f.leaseName); err != nil || now != first {
		t.Errorf("another one leads now: %v", err)
	}
	f.expectWriters(first)
	if lists := f.lists(from); len(lists) > 0 {
		t.Errorf("the parents were listed again: %v", lists)
	}
}
