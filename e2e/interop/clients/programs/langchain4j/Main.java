package interop;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.mcp.client.DefaultMcpClient;
import dev.langchain4j.mcp.client.transport.http.StreamableHttpMcpTransport;
import java.util.stream.Collectors;

public class Main {
  public static void main(String[] args) throws Exception {
    var transport = StreamableHttpMcpTransport.builder().url(args[0]).build();
    try (var client = new DefaultMcpClient.Builder().transport(transport).build()) {
      var names = client.listTools().stream().map(tool -> "\"" + tool.name() + "\"").collect(Collectors.joining(","));
      var call = ToolExecutionRequest.builder().name("everything_echo").arguments("{\"message\":\"hello\"}").build();
      var text = client.executeTool(call).resultText();
      System.out.println("{\"tools\":[" + names + "],\"echo\":\"" + text + "\"}");
    }
    System.exit(0);
  }
}
