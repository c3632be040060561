import { MCPServerStreamableHttp } from '@openai/agents';

const server = new MCPServerStreamableHttp({ url: process.argv[2], name: 'vmcp' });
await server.connect();
const tools = await server.listTools();
const content = await server.callTool('everything_echo', { message: 'hello' });
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), echo: (content.content ?? content)[0].text }));
await server.close();
