package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"client/api"
)

// must ends the program where a request fails, or where its answer has no body of the expected type.
func must[Reply any](reply Reply, err error) Reply {
	if err != nil {
		log.Fatal(err)
	}
	return reply
}

func groupNames(ctx context.Context, client *api.ClientWithResponses) []string {
	names := []string{}
	for _, group := range must(client.ListGroupsWithResponse(ctx)).JSON200.Groups {
		names = append(names, group.Name)
	}
	return names
}

func main() {
	ctx := context.Background()
	client := must(api.NewClientWithResponses(os.Args[1]))
	backend, lab, say, yes := os.Args[2], "lab", "say", true

	first := groupNames(ctx, client)
	created := must(client.CreateGroupWithResponse(ctx, api.CreateGroupRequest{Name: lab})).JSON201
	overrides := map[string]api.ToolOverride{"echo": {Name: &say}}
	request := api.CreateWorkloadRequest{Name: "notes", Group: &lab, Url: &backend, ToolsOverride: &overrides}
	if reply := must(client.CreateWorkloadWithResponse(ctx, request)); reply.JSON201 == nil {
		log.Fatal(reply.Status(), string(reply.Body))
	}
	details := must(client.GetWorkloadWithResponse(ctx, "notes")).JSON200
	listed := [][]any{}
	list := must(client.ListWorkloadsWithResponse(ctx, &api.ListWorkloadsParams{All: &yes, Group: &lab})).JSON200
	for _, workload := range list.Workloads {
		listed = append(listed, []any{workload.Name, workload.Remote, workload.Group})
	}
	deleted := must(client.DeleteWorkloadWithResponse(ctx, "notes"))
	gone := must(client.DeleteGroupWithResponse(ctx, lab, &api.DeleteGroupParams{WithWorkloads: &yes}))
	missing := must(client.GetGroupWithResponse(ctx, lab))
	statuses := []int{deleted.StatusCode(), gone.StatusCode(), missing.StatusCode()}
	if missing.StatusCode() == http.StatusNotFound && missing.JSON200 != nil {
		log.Fatal("a missing group has a body")
	}
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"first":    first,
		"created":  created.Name,
		"override": details.ToolsOverride["echo"].Name,
		"listed":   listed,
		"statuses": statuses,
		"last":     groupNames(ctx, client),
	}))
}
