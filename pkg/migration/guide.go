// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Status says how far the migration is, and what comes next.
func (m *Migration) Status(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	said := descriptions()[now.phase()]
	m.say("%s", said.is)
	if now.leadsHere() && m.openAPIShows(ctx) != nil {
		m.say("The OpenAPI documents of the cluster do not show the server's API yet, so kubectl explain does not, either: a kube-apiserver reads them when it starts anew.")
	}
	if said.next != "" {
		m.say("Next: %s", said.next)
	}
	if said.back != "" {
		m.say("Back: %s", said.back)
	}
	return nil
}

// Guide says, in one line, what comes next and how to go back, as the cluster is now.
func (m *Migration) Guide(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	said := descriptions()[now.phase()]
	var parts []string
	if said.next != "" {
		parts = append(parts, "Next: "+said.next)
	}
	if said.back != "" {
		parts = append(parts, "Back: "+said.back)
	}
	if len(parts) > 0 {
		m.say("%s", strings.Join(parts, " | "))
	}
	return nil
}

// description is what is said of a phase.
type description struct{ is, next, back string }

func descriptions() map[Phase]description {
	const command, goBack = "metacontroller-apiserver migrate ", "metacontroller-apiserver migrate back"
	return map[Phase]description{
		PhaseNothing:   {"The cluster has neither Metacontroller's CustomResourceDefinitions nor this API. There is nothing to migrate.", "", ""},
		PhaseOriginal:  {"The CustomResourceDefinitions serve the API. Nothing was copied.", command + "check", ""},
		PhaseCopying:   {"The CustomResourceDefinitions serve the API, and the server takes copies.", command + "check, copy (as often as you like) and switch", goBack},
		PhaseSwitching: {"The server serves the API, and the CustomResourceDefinitions still have it, too: a switch was interrupted, or the server was installed over them.", command + "switch", goBack},
		PhaseHeld:      {"The server serves the API, and its controllers are held.", command + "verify and run", goBack},
		PhaseRunning:   {"The server serves the API, and its controllers run. The CustomResourceDefinitions still have the objects as they were.", command + "finish, when you will not go back", goBack},
		PhaseFinished:  {"The server serves the API. There are no CustomResourceDefinitions.", "", goBack},
		PhaseReturning: {"The CustomResourceDefinitions serve the API again. Not everything was written into them yet.", goBack, ""},
		PhaseForeign:   {"The APIService leads to another Service than that of this server: see --service-name and --service-namespace.", "", ""},
	}
}

// openAPIShows returns nil if the cluster's OpenAPI documents show the API of the server. kube-apiserver does not read them anew
// when an APIService that led to definitions leads to a server.
func (m *Migration) openAPIShows(ctx context.Context) error {
	raw, err := m.kube.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis", group, servedVersion).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return err
	}
	var document struct {
		Info struct{ Title string } `json:"info"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return err
	}
	if document.Info.Title != serverTitle {
		return fmt.Errorf("the document is of %q", document.Info.Title)
	}
	return nil
}

// serverTitle is the title of the server's own OpenAPI document.
const serverTitle = "metacontroller-apiserver"

// plannedStep is what a step does, for the plan.
type plannedStep struct {
	name   string
	phases []Phase // in which it is still to be done
	does   []string
}

func plannedSteps(m *Migration) []plannedStep {
	before := []Phase{PhaseOriginal, PhaseCopying}
	stop := "wait until Metacontroller has been scaled to zero"
	if m.config.StopOriginal {
		stop = "scale Metacontroller to zero, and wait until its Pods have ended"
	}
	return []plannedStep{
		{"copy", before, []string{
			"create the APIService " + ImportsAPIService + ", by which the server takes objects",
			"add the version " + copyVersion + " to the three CustomResourceDefinitions; clients that watch " + servedVersion + " watch anew",
			"copy all objects into the storage of the server, until nothing changes",
		}},
		{"switch", append(before, PhaseSwitching), []string{
			stop,
			"copy what has changed",
			"update the APIService " + apiServiceName + ": it leads to the Service " + m.config.Service.String() + ", and holds the controllers of the server",
			"copy what was written meanwhile",
			"have the CustomResourceDefinitions no longer serve " + servedVersion + "; clients that watch list anew",
		}},
		{"verify", append(before, PhaseSwitching, PhaseHeld, PhaseRunning), []string{"compare all objects, and list what the controllers would write"}},
		{"run", append(before, PhaseSwitching, PhaseHeld), []string{"remove the annotation that holds the controllers of the server"}},
		{"finish", append(before, PhaseSwitching, PhaseHeld, PhaseRunning), []string{
			"remove the finalizers of the objects in the CustomResourceDefinitions",
			"delete the three CustomResourceDefinitions, with the objects in them",
			"delete the APIService " + ImportsAPIService,
		}},
		{"back", nil, []string{
			"hold the controllers of the server, and wait until they stand still",
			"create the CustomResourceDefinitions that are gone",
			"write all objects into the CustomResourceDefinitions, until nothing changes",
			"have them serve " + servedVersion + " again, and update the APIService " + apiServiceName + ": it leads to them",
			"write what was changed meanwhile",
			"remove the version " + copyVersion + " and the APIService " + ImportsAPIService,
		}},
	}
}

// PlanStep says what a step would do. It returns false if it does nothing that has to be planned.
func (m *Migration) PlanStep(name string) bool {
	for _, step := range plannedSteps(m) {
		if step.name == name {
			m.sayStep(step)
			return true
		}
	}
	return false
}

func (m *Migration) sayStep(of plannedStep) {
	m.say("migrate %s would", of.name)
	for _, does := range of.does {
		m.say("  - %s", does)
	}
}

// Plan says everything that would be done, and does nothing.
func (m *Migration) Plan(ctx context.Context) error {
	if err := m.ensureRights(ctx); err != nil {
		return err
	}
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	found, err := m.find(ctx)
	if err != nil {
		return err
	}
	m.say("%s", descriptions()[now.phase()].is)
	m.say("")
	m.sayFindings(found)
	for _, step := range plannedSteps(m) {
		if !slices.Contains(step.phases, now.phase()) {
			continue
		}
		m.say("")
		m.sayStep(step)
	}
	m.say("")
	m.say("migrate back undoes all of this at any time, also after migrate finish.")
	return found.blocked()
}
