import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { everyPage, outcomesOf, type RunClient, type Step, type Target } from './client.ts';

/** TypeScript SDK 2.x; `auto` tries 2026-07-28 first and falls back to `initialize`, `legacy` uses `initialize` only. */
export const sdkV2 =
  (mode: 'legacy' | 'auto'): RunClient =>
  async (target, steps) => {
    const client = new Client({ name: 'e2e-sdk-2', version: '1.0.0' }, { versionNegotiation: { mode } });
    const transport = openTransport(target);
    await client.connect(transport);
    try {
      const sessionId = transport instanceof StreamableHTTPClientTransport ? transport.sessionId : undefined;
      const outcomes = await outcomesOf(steps, (step) => perform(client, step));
      const initialize = {
        protocolVersion: client.getNegotiatedProtocolVersion(),
        serverInfo: { ...client.getServerVersion() },
        capabilities: { ...client.getServerCapabilities() },
        instructions: client.getInstructions(),
      };
      return { initialize, outcomes, sessionId };
    } finally {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
    }
  };

function openTransport(target: Target): SSEClientTransport | StdioClientTransport | StreamableHTTPClientTransport {
  switch (target.transport) {
    case 'stdio':
      return new StdioClientTransport({ command: target.command, args: [...target.args] });
    case 'sse':
      return new SSEClientTransport(new URL(target.url));
    case 'streamable-http':
      return new StreamableHTTPClientTransport(new URL(target.url));
  }
}

/** An absent cursor makes this client read every page by itself. */
const first = (cursor: string | undefined) => (cursor === undefined ? undefined : { cursor });

async function perform(client: Client, step: Step): Promise<unknown> {
  switch (step.op) {
    case 'tools':
      return everyPage(async (cursor) => {
        const { tools: items, nextCursor: next } = await client.listTools(first(cursor));
        return { items, next };
      });
    case 'resources':
      return everyPage(async (cursor) => {
        const { resources: items, nextCursor: next } = await client.listResources(first(cursor));
        return { items, next };
      });
    case 'templates':
      return everyPage(async (cursor) => {
        const { resourceTemplates: items, nextCursor: next } = await client.listResourceTemplates(first(cursor));
        return { items, next };
      });
    case 'prompts':
      return everyPage(async (cursor) => {
        const { prompts: items, nextCursor: next } = await client.listPrompts(first(cursor));
        return { items, next };
      });
    case 'call':
      return client.callTool({ name: step.name, arguments: { ...step.args } });
    case 'read':
      return client.readResource({ uri: step.uri });
    case 'prompt':
      return client.getPrompt({ name: step.name, arguments: { ...step.args } });
    case 'complete':
      return client.complete({ ref: { ...step.ref }, argument: { ...step.argument } });
    case 'ping':
      return client.ping();
  }
}
