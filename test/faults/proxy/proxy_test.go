// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	widgets    = "/apis/example.com/v1/namespaces/a/widgets"
	configMaps = "/api/v1/namespaces/a/configmaps"
)

// host counts the writes that it stores, and sends an event to a watch for each value.
type host struct {
	stored atomic.Int64
	events chan string
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		h.stored.Add(1)
		fmt.Fprint(w, "stored")
		return
	}
	if !r.URL.Query().Has("watch") {
		fmt.Fprint(w, "a list")
		return
	}
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case event := <-h.events:
			fmt.Fprintln(w, event)
		case <-r.Context().Done():
			return
		}
	}
}

func start(t *testing.T, script Script) (*Proxy, *http.Client, *host) {
	t.Helper()
	h := &host{events: make(chan string, 10)}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	p, err := Start(&Upstream{URL: server.URL, Host: transport, Own: transport}, script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, &http.Client{Transport: p.Host().Transport}, h
}

// outcome is what a process gets for a write: the body, or that it got none.
func outcome(client *http.Client, url string) string {
	response, err := client.Post(url, "application/json", strings.NewReader("{}"))
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "half an answer"
	}
	return fmt.Sprintf("%d %s", response.StatusCode, body)
}

func TestWhatBecomesOfAWrite(t *testing.T) {
	nothing := func() {}
	for name, c := range map[string]struct {
		action Action
		want   string
		stored int64
	}{
		"passes":                         {Pass(), "200 stored", 1},
		"is not sent":                    {Drop(), "no answer", 0},
		"is stored but not answered":     {Lose(), "no answer", 1},
		"is answered in half":            {Truncate(), "half an answer", 1},
		"fails":                          {Fail(503, "x", "y", 0), `503 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"y","reason":"x","code":503}`, 0},
		"the process dies before it":     {KillBefore(nothing), "no answer", 0},
		"the process dies before answer": {KillAfter(nothing), "no answer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, client, h := start(t, Script{Do: func(request Request) Action {
				if request.Write == 1 {
					return c.action
				}
				return nil
			}})
			if got := outcome(client, p.Host().Host+widgets); got != c.want {
				t.Errorf("the process got %q, want %q", got, c.want)
			}
			if got := h.stored.Load(); got != c.stored {
				t.Errorf("the host stored %d writes, want %d", got, c.stored)
			}
		})
	}
}

func TestWhichRequestsCount(t *testing.T) {
	p, client, _ := start(t, Script{})
	for _, path := range []string{
		widgets + "?dryRun=All", "/api/v1/namespaces/a/events", "/apis/coordination.k8s.io/v1/namespaces/a/leases", widgets, configMaps,
	} {
		outcome(client, p.Host().Host+path)
	}
	if got := p.Writes(); got != 2 {
		t.Errorf("%d writes count, want those of the widget and the ConfigMap", got)
	}
}

func TestADeadProcessReachesNothing(t *testing.T) {
	p, client, h := start(t, Script{})
	p.Cut()
	if got := outcome(client, p.Host().Host+widgets); !strings.Contains(got, "the process is dead") {
		t.Errorf("a dead process got %q", got)
	}
	if h.stored.Load() != 0 {
		t.Error("a write of a dead process was stored")
	}
}

// watch begins a watch and returns its lines.
func watch(t *testing.T, p *Proxy, client *http.Client) *bufio.Reader {
	t.Helper()
	response, err := client.Get(p.Host().Host + widgets + "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return bufio.NewReader(response.Body)
}

func TestWhatBecomesOfAWatch(t *testing.T) {
	for name, c := range map[string]struct {
		open func(*Gate)
		want string
	}{
		"late":     {(*Gate).Open, "late\n"},
		"skipping": {(*Gate).Skip, tooOld},
		"ending":   {(*Gate).End, ""},
		"broken":   {(*Gate).Break, tooOld[:len(tooOld)/2]},
	} {
		t.Run(name, func(t *testing.T) {
			gate := NewGate(func(request Request) bool { return request.Is("widgets") })
			p, client, h := start(t, Script{Gates: []*Gate{gate}})
			lines := watch(t, p, client)
			h.events <- "early"
			if line, err := lines.ReadString('\n'); line != "early\n" {
				t.Fatalf("before the gate closes, the watch shows %q, %v", line, err)
			}
			gate.Close()
			h.events <- "late"
			c.open(gate)
			if line, _ := lines.ReadString('\n'); line != c.want {
				t.Errorf("the watch shows %q, want %q", line, c.want)
			}
		})
	}
}
