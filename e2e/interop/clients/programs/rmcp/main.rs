use rmcp::{model::CallToolRequestParams, transport::StreamableHttpClientTransport, ServiceExt};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("the URL is missing")?;
    let client = ().serve(StreamableHttpClientTransport::from_uri(url)).await?;
    let tools = client.list_all_tools().await?;
    let names: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
    let arguments = json!({ "message": "hello" }).as_object().cloned().unwrap_or_default();
    let call = CallToolRequestParams::new("everything_echo").with_arguments(arguments);
    let result = serde_json::to_value(client.call_tool(call).await?)?;
    println!("{}", json!({ "tools": names, "echo": result["content"][0]["text"] }));
    client.cancel().await?;
    Ok(())
}
