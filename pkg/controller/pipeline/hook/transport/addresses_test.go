// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// callDenied calls a hook at a URL where networks are denied, and returns the error.
func callDenied(t *testing.T, url string, denied hookaddress.Denied) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return callerOf(t, &v1alpha1.Webhook{URL: &url}, Options{MaxIdleConnections: 2, Denied: denied}).call(ctx)
}

// wantDenied fails the test unless the error says that an address is denied.
func wantDenied(t *testing.T, err error, address string) {
	t.Helper()
	denied, ok := errors.AsType[*hookaddress.Error](err)
	if !ok || denied.Address.String() != address {
		t.Errorf("error is %v, want one that denies %s", err, address)
	}
}

// loopback is denied where a test needs an address that is denied and can be reached.
func loopback() hookaddress.Denied {
	return hookaddress.Denied{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func TestAHookIsNotCalledWhereItsNameLeads(t *testing.T) {
	var calls atomic.Int32
	address := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	err := callDenied(t, strings.Replace(address, "127.0.0.1", "localhost", 1), loopback())
	if denied, ok := errors.AsType[*hookaddress.Error](err); !ok || !denied.Address.IsLoopback() {
		t.Errorf("error is %v, want one that denies the address of localhost", err)
	}
	if calls.Load() != 0 {
		t.Error("the hook was called")
	}
}

func TestARedirectDoesNotLeadToADeniedAddress(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", status)
		})
		wantDenied(t, callDenied(t, address, hookaddress.DeniedByDefault()), "169.254.169.254")
	}
}

// A name can be resolved to another address with each call.
func TestANameIsCheckedEachTimeItIsResolved(t *testing.T) {
	address := serve(t, answer(200, "{}"))
	names := startNames(t)
	transport := newDenyingTransport(&http.Transport{DisableKeepAlives: true}, hookaddress.DeniedByDefault())
	transport.hookDialer.Resolver = &net.Resolver{PreferGo: true, Dial: names.dial}
	get := func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(address, "127.0.0.1", "hooks.test.", 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	names.lead("127.0.0.1")
	if err := get(); err != nil {
		t.Errorf("where the name leads first: %v", err)
	}
	names.lead("169.254.169.254")
	wantDenied(t, get(), "169.254.169.254")
}

// onlyProxy is set in the process whose hooks may have no other address than the proxy.
const onlyProxy = "TEST_HOOK_ONLY_PROXY"

// A process reads its environment only once, so the test runs another process.
func TestWhatAProxyIsSentIsChecked(t *testing.T) {
	if os.Getenv(onlyProxy) != "" {
		if err := callDenied(t, "http://hooks.invalid/sync", loopback()); err != nil {
			t.Errorf("the proxy's own address is denied: %v", err)
		}
		wantDenied(t, callDenied(t, "http://169.254.169.254/", hookaddress.DeniedByDefault()), "169.254.169.254")
		return
	}
	var calls atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, "{}")
	})
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), onlyProxy+"=yes", "HTTP_PROXY="+proxy, "NO_PROXY=")
	if output, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if calls.Load() != 1 {
		t.Errorf("the proxy was asked %d times, want once", calls.Load())
	}
}

// names is a DNS server that resolves all names to one IPv4 address.
type names struct {
	address string

	mu     sync.Mutex
	target netip.Addr
}

func startNames(t *testing.T) *names {
	t.Helper()
	connection, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{address: connection.LocalAddr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		question := make([]byte, 512)
		for {
			length, from, err := connection.ReadFrom(question)
			if err != nil {
				return // it is closed
			}
			_, _ = connection.WriteTo(n.answer(question[:length]), from)
		}
	})
	t.Cleanup(func() {
		_ = connection.Close()
		serving.Wait()
	})
	return n
}

// dial connects to the DNS server, whatever the address.
func (n *names) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "udp", n.address)
}

// lead resolves all names to an address from now on.
func (n *names) lead(target string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.target = netip.MustParseAddr(target)
}

// answer makes the answer to a question. It consists of a header, the question and, if the question
// is for an IPv4 address, the address.
func (n *names) answer(question []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	const header = 12
	end := header
	for question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 5 // the end of the name, type and class
	reply := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[header:end]...)
	const typeA = 1
	if binary.BigEndian.Uint16(question[end-4:]) == typeA {
		reply[7] = 1
		reply = append(reply, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, n.target.AsSlice()...)
	}
	return reply
}

// A name of two parts can be a public one, which answers while the Service does not exist. What the hook
// sees of its name stays as it is.
func TestAServiceIsLookedUpInTheClusterAlone(t *testing.T) {
	var host, serverName string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host = r.Host
		_, _ = io.WriteString(w, "{}")
	}))
	server.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		serverName = hello.ServerName
		return nil, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	webhook := &v1alpha1.Webhook{Path: ptr.To("/sync"),
		Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "dev", Port: &port, Protocol: ptr.To("https")}}
	target, err := webhook.Address().Parse()
	if err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	var asked []string
	names := startNames(t)
	names.lead("127.0.0.1")
	made := New("sync", webhook, target, nil, Options{})
	t.Cleanup(made.Close)
	made.shared.transport.TLSClientConfig.InsecureSkipVerify = true
	ask := func(ctx context.Context, network, at string) (net.Conn, error) {
		connection, err := names.dial(ctx, network, at)
		if err != nil {
			return nil, err
		}
		return &recordedQuestions{UDPConn: connection.(*net.UDPConn), asked: func(name string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, name)
		}}, nil
	}
	made.shared.transport.hookDialer.Resolver = &net.Resolver{PreferGo: true, Dial: ask}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.String(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := made.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if want := target.Host; host != want || serverName != "hooks.dev" {
		t.Errorf("the hook is called as %q, and as %q by TLS; want %q and hooks.dev", host, serverName, want)
	}
	isOfCluster := func(name string) bool { return strings.HasPrefix(name, "hooks.dev.svc.") }
	if len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool { return !isOfCluster(name) }) {
		t.Errorf("looked up was %q", asked)
	}
}

// recordedQuestions is a connection to a DNS server that tells the names that are asked for.
type recordedQuestions struct {
	*net.UDPConn
	asked func(name string)
}

func (c *recordedQuestions) Write(question []byte) (int, error) {
	var name strings.Builder
	for at := 12; at < len(question) && question[at] != 0; at += 1 + int(question[at]) {
		_, _ = name.Write(question[at+1 : at+1+int(question[at])])
		_ = name.WriteByte('.')
	}
	c.asked(name.String())
	return c.UDPConn.Write(question)
}
