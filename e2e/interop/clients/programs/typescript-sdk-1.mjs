import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const client = new Client({ name: 'interop', version: '1.0.0' });
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
await client.connect(transport);
const { tools } = await client.listTools();
const { content } = await client.callTool({ name: 'everything_echo', arguments: { message: 'hello' } });
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), echo: content[0].text }));
await transport.terminateSession();
await client.close();
