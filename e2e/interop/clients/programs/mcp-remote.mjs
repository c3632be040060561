import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const client = new Client({ name: 'interop', version: '1.0.0' });
const args = ['node_modules/.bin/mcp-remote', process.argv[2]];
await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore', env: process.env }));
const { tools } = await client.listTools();
const { content } = await client.callTool({ name: 'everything_echo', arguments: { message: 'hello' } });
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), echo: content[0].text }));
await client.close();
