import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

for (const mode of ['legacy', 'auto']) {
  const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
  await client.connect(transport);
  const { tools } = await client.listTools();
  const { content } = await client.callTool({ name: 'everything_echo', arguments: { message: 'hello' } });
  const name = client.getNegotiatedProtocolVersion();
  console.log(JSON.stringify({ name, tools: tools.map((tool) => tool.name), echo: content[0].text }));
  await transport.terminateSession();
  await client.close();
}
