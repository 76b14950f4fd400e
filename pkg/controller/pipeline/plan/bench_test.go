// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// planning is a sync of a parent with ten children.
type planning struct {
	*world
	snapshot *pipeline.Snapshot
	// answer lists the children as they are, changed another version of each.
	answer, changed *pipeline.Response
}

// plannings are one of ConfigMaps of 1 KB and one of Pods of five containers, whose
// quantities the host writes otherwise than the hook.
func plannings(t testing.TB) map[string]planning {
	const container = `{name: c%d, image: "registry.example/app:%%s", ports: [{containerPort: 8080}], resources: {limits: {cpu: 1000m, memory: 1024Mi}}}`
	var containers []string
	for i := range 5 {
		containers = append(containers, fmt.Sprintf(container, i))
	}
	made := map[string]planning{}
	for of, child := range map[object.Type]string{
		configMaps: `{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {app: shop}}, data: {version: "%s", config: ` + strings.Repeat("x", 1000) + `}}`,
		pods:       `{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: shop}}, spec: {containers: [` + strings.Join(containers, ", ") + `]}}`,
	} {
		p := planning{world: newWorld(t, web, of).method(InPlace)}
		p.schemas[of] = described(t, of)
		version := func(i int, version string) string {
			return strings.ReplaceAll(strings.Replace(child, "%s", fmt.Sprint("child-", i), 1), "%s", version)
		}
		var answer, changed []string
		for i := range 10 {
			answer, changed = append(answer, version(i, "v1")), append(changed, version(i, "v2"))
			stored := strings.NewReplacer("1000m", `"1"`, "1024Mi", "1Gi").Replace(version(i, "v1"))
			p.children[of] = append(p.children[of], p.applied(of, stored, version(i, "v1")))
		}
		p.snapshot, p.answer, p.changed = p.world.snapshot(), p.world.answer(answer...), p.world.answer(changed...)
		made[of.Kind] = p
	}
	return made
}

func (p planning) plan(answer *pipeline.Response, upToDate *UpToDateCache, writing int) {
	if planned, err := Composite(p.snapshot, answer, p.strategies, upToDate); err != nil || len(planned.Refused) > 0 || count(planned) != writing {
		p.t.Fatal(planned, err)
	}
}

// first is what the first sync after a start takes, when nothing is remembered; quiet what
// those after that take; update the one that finds all children to be others.
func (p planning) first()                        { p.plan(p.answer, &UpToDateCache{}, 0) }
func (p planning) quiet(upToDate *UpToDateCache) { p.plan(p.answer, upToDate, 0) }
func (p planning) update()                       { p.plan(p.changed, &UpToDateCache{}, len(p.changed.Children)) }

// count is how many steps of a plan change the host.
func count(planned *pipeline.Plan) (writes int) {
	for i := range planned.Steps {
		if planned.Steps[i].Op.Writes() {
			writes++
		}
	}
	return writes
}

func BenchmarkFirstSync(b *testing.B) {
	benchmark(b, func(p planning, _ *UpToDateCache) { p.first() })
}

func BenchmarkQuietSync(b *testing.B) {
	benchmark(b, func(p planning, upToDate *UpToDateCache) { p.quiet(upToDate) })
}

func BenchmarkUpdate(b *testing.B) {
	benchmark(b, func(p planning, _ *UpToDateCache) { p.update() })
}

func benchmark(b *testing.B, plan func(planning, *UpToDateCache)) {
	for kind, p := range plannings(b) {
		b.Run(kind, func(b *testing.B) {
			upToDate := UpToDateCache{}
			b.ReportAllocs()
			for b.Loop() {
				plan(p, &upToDate)
			}
		})
	}
}

// The first sync also searches what is desired for fields that the schema does not have.
//
// A quiet sync makes the plan, room for its steps, tables of the observed and the desired
// children by name, and the status to compare. The others decode what is observed, last applied and
// desired of each child, and copy what merging changes.
func TestWhatPlanningAllocates(t *testing.T) {
	plannings := plannings(t)
	for kind, want := range map[string]struct{ first, quiet, update int }{
		"ConfigMap": {2519, 29, 3286},
		"Pod":       {10919, 29, 13676},
	} {
		p, upToDate := plannings[kind], &UpToDateCache{}
		p.quiet(upToDate)
		for name, of := range map[string]struct {
			plan func()
			want int
		}{
			"first":  {p.first, want.first},
			"quiet":  {func() { p.quiet(upToDate) }, want.quiet},
			"update": {p.update, want.update},
		} {
			t.Run(kind+" "+name, func(t *testing.T) { alloctest.AtMost(t, of.want, of.plan) })
		}
	}
}
