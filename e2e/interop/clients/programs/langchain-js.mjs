import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({ mcpServers: { vmcp: { transport: 'http', url: process.argv[2] } } });
const tools = await client.getTools();
const echo = await tools.find(({ name }) => name.endsWith('everything_echo')).invoke({ message: 'hello' });
console.log(
  JSON.stringify({ tools: tools.map(({ name }) => name), echo: typeof echo === 'string' ? echo : echo[0].text }),
);
await client.close();
