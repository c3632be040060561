package interop;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.Map;
import java.util.stream.Collectors;

public class Main {
  public static void main(String[] args) {
    var url = java.net.URI.create(args[0]);
    var transport = HttpClientStreamableHttpTransport.builder("http://" + url.getAuthority()).endpoint(url.getPath()).build();
    try (var client = McpClient.sync(transport).build()) {
      client.initialize();
      var names = client.listTools().tools().stream().map(tool -> "\"" + tool.name() + "\"").collect(Collectors.joining(","));
      var result = client.callTool(new McpSchema.CallToolRequest("everything_echo", Map.of("message", "hello")));
      var text = ((McpSchema.TextContent) result.content().get(0)).text();
      System.out.println("{\"tools\":[" + names + "],\"echo\":\"" + text + "\"}");
    }
    System.exit(0);
  }
}
