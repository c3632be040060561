package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, nil)
	check(err)
	list, err := session.ListTools(ctx, &mcp.ListToolsParams{})
	check(err)
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	arguments := map[string]any{"message": "hello"}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "everything_echo", Arguments: arguments})
	check(err)
	text := result.Content[0].(*mcp.TextContent).Text
	line, _ := json.Marshal(map[string]any{"tools": names, "echo": text})
	fmt.Println(string(line))
	check(session.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
