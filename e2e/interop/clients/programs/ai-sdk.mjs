import { createMCPClient } from '@ai-sdk/mcp';

const client = await createMCPClient({ transport: { type: 'http', url: process.argv[2] } });
const tools = await client.tools();
const { content } = await tools['everything_echo'].execute({ message: 'hello' }, { toolCallId: '1', messages: [] });
console.log(JSON.stringify({ tools: Object.keys(tools), echo: content[0].text }));
await client.close();
