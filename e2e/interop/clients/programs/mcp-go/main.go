package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	ctx := context.Background()
	c, err := client.NewStreamableHttpClient(os.Args[1])
	check(err)
	check(c.Start(ctx))
	initialize := mcp.InitializeRequest{}
	initialize.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	initialize.Params.ClientInfo = mcp.Implementation{Name: "interop", Version: "1.0.0"}
	_, err = c.Initialize(ctx, initialize)
	check(err)
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	check(err)
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = "everything_echo"
	call.Params.Arguments = map[string]any{"message": "hello"}
	result, err := c.CallTool(ctx, call)
	check(err)
	text, _ := mcp.AsTextContent(result.Content[0])
	line, _ := json.Marshal(map[string]any{"tools": names, "echo": text.Text})
	fmt.Println(string(line))
	check(c.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
