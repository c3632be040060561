package interop;

import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class Main {
  public static void main(String[] args) {
    var application = new SpringApplication(Main.class);
    application.setDefaultProperties(Map.of(
        "spring.main.web-application-type", "none",
        "spring.main.banner-mode", "off",
        "logging.level.root", "warn",
        "spring.ai.mcp.client.streamable-http.connections.vmcp.url", args[0].replaceAll("/mcp$", "")));
    try (var context = application.run()) {
      @SuppressWarnings("unchecked")
      var client = ((List<McpSyncClient>) context.getBean("mcpSyncClients")).get(0);
      var names = client.listTools().tools().stream().map(tool -> "\"" + tool.name() + "\"").collect(Collectors.joining(","));
      var result = client.callTool(new McpSchema.CallToolRequest("everything_echo", Map.of("message", "hello")));
      var text = ((McpSchema.TextContent) result.content().get(0)).text();
      System.out.println("{\"tools\":[" + names + "],\"echo\":\"" + text + "\"}");
    }
    System.exit(0);
  }
}
