import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { everyPage, outcomesOf, type RunClient, type Step, type Target } from './client.ts';

/** A connected client of SDK 1.x, for tests that need more than steps. */
export interface ConnectedV1 {
  readonly client: Client;
  readonly sessionId: () => string | undefined;
  /** Deletes the session, if there is one, and disconnects. */
  close(): Promise<void>;
}

export async function connectV1(target: Target): Promise<ConnectedV1> {
  const client = new Client({ name: 'e2e-sdk-1', version: '1.0.0' });
  const transport = openTransport(target);
  await client.connect(transport);
  return {
    client,
    sessionId: () => (transport instanceof StreamableHTTPClientTransport ? transport.sessionId : undefined),
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
    },
  };
}

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

/** TypeScript SDK 1.x. */
export const sdkV1: RunClient = async (target, steps) => {
  const { client, sessionId, close } = await connectV1(target);
  try {
    const id = sessionId();
    const outcomes = await outcomesOf(steps, (step) => perform(client, step));
    const initialize = {
      serverInfo: { ...client.getServerVersion() },
      capabilities: { ...client.getServerCapabilities() },
      instructions: client.getInstructions(),
    };
    return { initialize, outcomes, sessionId: id };
  } finally {
    await close();
  }
};

async function perform(client: Client, step: Step): Promise<unknown> {
  switch (step.op) {
    case 'tools':
      return everyPage(async (cursor) => {
        const { tools: items, nextCursor: next } = await client.listTools(cursor === undefined ? {} : { cursor });
        return { items, next };
      });
    case 'resources':
      return everyPage(async (cursor) => {
        const { resources: items, nextCursor: next } = await client.listResources(
          cursor === undefined ? {} : { cursor },
        );
        return { items, next };
      });
    case 'templates':
      return everyPage(async (cursor) => {
        const page = await client.listResourceTemplates(cursor === undefined ? {} : { cursor });
        return { items: page.resourceTemplates, next: page.nextCursor };
      });
    case 'prompts':
      return everyPage(async (cursor) => {
        const { prompts: items, nextCursor: next } = await client.listPrompts(cursor === undefined ? {} : { cursor });
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
