// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// measuredHook returns a hook with metrics.
func measuredHook(t *testing.T, metrics *Metrics, name, url string, controller ControllerRef) *Webhook {
	t.Helper()
	made, err := New(name, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
		Options{Limits: Limits{MaxResponseBytes: limit}, Metrics: metrics, Controller: controller})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func registryOf(t *testing.T, metrics *Metrics) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(metrics); err != nil {
		t.Fatal(err)
	}
	return registry
}

// namesOf returns the names of all metrics of a hook.
func namesOf(hook string) []string {
	var names []string
	for _, name := range []string{
		"requests_total", "request_duration_histogram_seconds", "dns_duration_histogram_seconds",
		"tls_duration_histogram_seconds", "in_flight_requests",
	} {
		names = append(names, "metacontroller_"+hook+"_"+name)
	}
	return names
}

func series(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	count, err := testutil.GatherAndCount(registry)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func TestCallsAreMeasured(t *testing.T) {
	metrics := NewMetrics()
	registry := registryOf(t, metrics)
	statuses := make(chan int, 10)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch status := <-statuses; status {
		case http.StatusFound:
			http.Redirect(w, r, "/new", status)
		default:
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "{}")
		}
	})
	hook := measuredHook(t, metrics, Sync, strings.Replace(address, "http://", "http://user:s3cret@", 1)+"/sync?key=s3cret", ControllerRef{"CompositeController", "webs"})
	for _, answers := range [][]int{{200}, {200}, {500}, {429}, {302, 200}} {
		for _, status := range answers {
			statuses <- status
		}
		_, _ = hook.SyncComposite(t.Context(), snapshot(t))
	}
	shown := strings.Replace(address, "http://", "http://xxxxx@", 1)
	labels := func(more string) string {
		return `{` + more + `controller_name="webs",controller_type="CompositeController",` + "method=%s" + `url="` + shown + `/sync?xxxxx"}`
	}
	with := func(code, method string) string {
		return strings.Replace(labels(`code="`+code+`",`), "method=%s", `method="`+method+`",`, 1)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP metacontroller_sync_requests_total Number of answered requests to the hook, including redirects, by status code and method.
# TYPE metacontroller_sync_requests_total counter
metacontroller_sync_requests_total`+with("200", "post")+` 2
metacontroller_sync_requests_total`+with("500", "post")+` 1
metacontroller_sync_requests_total`+with("429", "post")+` 1
metacontroller_sync_requests_total`+with("302", "post")+` 1
metacontroller_sync_requests_total`+with("200", "get")+` 1
# HELP metacontroller_sync_in_flight_requests Number of requests for which the server waits for the header of the response of the hook.
# TYPE metacontroller_sync_in_flight_requests gauge
metacontroller_sync_in_flight_requests`+strings.Replace(labels(""), "method=%s", "", 1)+` 0
`), "metacontroller_sync_requests_total", "metacontroller_sync_in_flight_requests"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	observed := map[string]uint64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			observed[family.GetName()] += metric.GetHistogram().GetSampleCount()
			if family.GetName() == "metacontroller_sync_dns_duration_histogram_seconds" && len(metric.GetHistogram().GetBucket()) != 4 {
				t.Errorf("the buckets are %v", metric.GetHistogram().GetBucket())
			}
		}
	}
	if observed["metacontroller_sync_request_duration_histogram_seconds"] != 6 {
		t.Errorf("the durations of %d requests were measured, want 6", observed["metacontroller_sync_request_duration_histogram_seconds"])
	}
}

// An evaluation counts like a post to "inline", whose answer has the code of a webhook's. Previews do not count.
func TestEvaluationsAreMeasured(t *testing.T) {
	metrics := NewMetrics()
	registry := registryOf(t, metrics)
	of := Options{Metrics: metrics, Controller: ControllerRef{"CompositeController", "webs"}}
	hook := inlineHook(t, Sync, `status: {a: "${parent.metadata.namespace}"}`, of)
	about, clusterScoped := snapshot(t), snapshot(t)
	clusterScoped.Parent = parsed(t, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop"}}`)
	for _, one := range []*pipeline.Snapshot{about, about, clusterScoped, clusterScoped} {
		_, _ = hook.SyncComposite(t.Context(), one)
	}
	_, _ = hook.Preview(&Preview{
		Answer:  func(Call) ([]byte, error) { return nil, nil },
		Request: func(Call) []byte { return nil },
		Ended:   func(Call) {},
	}).SyncComposite(t.Context(), about)
	const labels = `controller_name="webs",controller_type="CompositeController",`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP metacontroller_sync_requests_total Number of answered requests to the hook, including redirects, by status code and method.
# TYPE metacontroller_sync_requests_total counter
metacontroller_sync_requests_total{code="200",`+labels+`method="post",url="inline"} 1
metacontroller_sync_requests_total{code="304",`+labels+`method="post",url="inline"} 1
metacontroller_sync_requests_total{code="500",`+labels+`method="post",url="inline"} 2
# HELP metacontroller_sync_in_flight_requests Number of requests for which the server waits for the header of the response of the hook.
# TYPE metacontroller_sync_in_flight_requests gauge
metacontroller_sync_in_flight_requests{`+labels+`url="inline"} 0
`), "metacontroller_sync_requests_total", "metacontroller_sync_in_flight_requests"); err != nil {
		t.Error(err)
	}
	durations := metrics.byHook[Sync].evaluations(seriesKey{Sync, "inline", of.Controller}.labels()).duration
	measured := &dto.Metric{}
	if err := durations.(prometheus.Metric).Write(measured); err != nil || measured.GetHistogram().GetSampleCount() != 4 {
		t.Errorf("the durations of %d evaluations were measured, want 4: %v", measured.GetHistogram().GetSampleCount(), err)
	}
	hook.Close()
	if left := series(t, registry); left != 0 {
		t.Errorf("%d series are left", left)
	}
}

func TestRequestsInFlightAreMeasured(t *testing.T) {
	metrics := NewMetrics()
	of := ControllerRef{"CompositeController", "webs"}
	var hook *Webhook
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		labels := seriesKey{Customize, hook.shown, of}.labels()
		if now := testutil.ToFloat64(metrics.byHook[Customize].inFlight.With(labels)); now != 1 {
			t.Errorf("%v requests are under way, want one", now)
		}
		_, _ = io.WriteString(w, "{}")
	})
	hook = measuredHook(t, metrics, Customize, address, of)
	if _, _, err := hook.Customize(t.Context(), snapshot(t)); err != nil {
		t.Fatal(err)
	}
}

func TestEachHookHasFamiliesOfItsOwn(t *testing.T) {
	for _, name := range []string{Sync, Finalize, Customize} {
		t.Run(name, func(t *testing.T) {
			metrics := NewMetrics()
			registry := registryOf(t, metrics)
			address := serve(t, answer(200, "{}"))
			hook := measuredHook(t, metrics, name, address, ControllerRef{"CompositeController", "webs"})
			if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil {
				t.Fatal(err)
			}
			for _, family := range namesOf(name) {
				if count, err := testutil.GatherAndCount(registry, family); err != nil || count == 0 {
					t.Errorf("%s has %d series: %v", family, count, err)
				}
			}
			if all, err := testutil.GatherAndCount(registry, namesOf(name)...); err != nil || all != series(t, registry) {
				t.Errorf("there are %d series, %d of the hook: %v", series(t, registry), all, err)
			}
		})
	}
}

// Upstream's metrics outlived the controllers, and controllers of two kinds with the same name
// shared theirs.
func TestQ46MetricsLiveAsLongAsTheHook(t *testing.T) {
	metrics := NewMetrics()
	registry := registryOf(t, metrics)
	address := serve(t, answer(200, "{}"))
	call := func(hook *Webhook) {
		t.Helper()
		if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil {
			t.Fatal(err)
		}
	}
	calls := func(of ControllerRef) float64 {
		labels := seriesKey{Sync, address, of}.labels()
		labels["code"], labels["method"] = "200", "post"
		return testutil.ToFloat64(metrics.byHook[Sync].requests.With(labels))
	}
	composite, decorator := ControllerRef{"CompositeController", "webs"}, ControllerRef{"DecoratorController", "webs"}

	old := measuredHook(t, metrics, Sync, address, composite)
	call(old)
	one := series(t, registry)
	other := measuredHook(t, metrics, Sync, address, decorator)
	call(other)
	if two := series(t, registry); two != 2*one {
		t.Errorf("two controllers of the same name have %d series, one has %d", two, one)
	}
	replacing := measuredHook(t, metrics, Sync, address, composite)
	call(replacing)
	old.Close()
	old.Close()
	call(replacing)
	if made := calls(composite); made != 3 || calls(decorator) != 1 {
		t.Errorf("%v and %v calls were counted, want 3 and 1", made, calls(decorator))
	}
	replacing.Close()
	if left := series(t, registry); left != one {
		t.Errorf("%d series are left, want the %d of the other controller", left, one)
	}
	other.Close()
	if left := series(t, registry); left != 0 || len(metrics.users) != 0 {
		t.Errorf("%d series are left of %d hooks", left, len(metrics.users))
	}
	again := measuredHook(t, metrics, Sync, address, composite)
	call(again)
	if made := calls(composite); made != 1 {
		t.Errorf("%v calls were counted of a controller that came back, want 1", made)
	}
}
