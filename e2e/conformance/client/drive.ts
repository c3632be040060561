/**
 * A client for `conformance client`: `node drive.ts SERVER_URL`. It starts a gateway over the server of the scenario, and
 * uses everything that the gateway lists.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { startVmcp } from '../../harness/vmcp.ts';

interface ToolCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

interface InputSchema {
  readonly properties?: Readonly<Record<string, object>>;
}

const SAMPLES: Readonly<Record<string, unknown>> = { string: 'sample', number: 1, integer: 1, boolean: true };

/** Returns an argument of each primitive property. */
function sampleArguments({ properties = {} }: InputSchema): Record<string, unknown> {
  const sample = ({ type }: { type?: unknown }) => SAMPLES[String(type)];
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, sample(schema)]));
}

/**
 * Time in which the gateway has resumed the call of `sse-retry`. The server of that scenario sends the reply on the first
 * GET stream of the session, even on the one for messages without a call, so the call may have no end.
 */
const RESUMED_MS = 2_000;

/** Calls of the scenarios that do not accept a call of every tool. */
const CALLS: Readonly<Record<string, (tools: readonly Tool[]) => ToolCall[]>> = {
  'json-schema-ref-no-deref': () => [],
  'json-schema-2020-12-preservation': (tools) => {
    const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
    return [{ name: 'json_schema_echo', arguments: { schema } }];
  },
};

const callEvery = (tools: readonly Tool[]): ToolCall[] =>
  tools.map(({ name, inputSchema }) => ({ name, arguments: sampleArguments(inputSchema as InputSchema) }));

/** Calls the tools that the scenario names, or every tool, all at the same time. */
async function callTools(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as { readonly toolCalls?: ToolCall[] };
  const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
  const chosen = CALLS[scenario] ?? callEvery;
  const calls = Promise.all((context.toolCalls ?? chosen(tools)).map((call) => client.callTool(call)));
  await (scenario === 'sse-retry' ? Promise.race([calls, sleep(RESUMED_MS)]) : calls);
}

async function useEverything(client: Client): Promise<void> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  if (tools) await callTools(client);
  if (resources) for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
  if (prompts) for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
}

async function connect(url: string): Promise<Client> {
  const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'];
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
  const client = new Client(
    { name: 'conformance-client', version: '1.0.0' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirmed: true } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const stops: (() => unknown)[] = [];
try {
  const config = { aggregation: { conflictResolution: 'none' } };
  const files = gatewayOver([entry('mock', process.argv[2] ?? '')], config);
  const vmcp = await startVmcp({ defer: (stop) => void stops.push(stop) }, { files });
  await eventually('the backend is ready', async () => {
    const { backends } = (await (await fetch(`${vmcp.management}/status`)).json()) as {
      backends: { health: string }[];
    };
    return backends.every(({ health }) => health === 'healthy');
  });
  const client = await connect(vmcp.url);
  await useEverything(client);
  await client.close();
} finally {
  for (const stop of stops.reverse()) await stop();
}
