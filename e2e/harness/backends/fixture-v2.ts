import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';
import {
  beginningWith,
  CITIES,
  crash,
  environmentJson,
  greetingUri,
  itemTemplate,
  PEOPLE,
  pictureUri,
  PNG,
  slowly,
} from './fixture.ts';

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** Returns the fixture server on SDK 2.x: the same features as on 1.x, with and without sessions. */
export function fixtureV2(name: string): McpServer {
  const server = new McpServer(
    { name: `fixture-${name}`, version: '1.2.3' },
    { instructions: `fixture server ${name}`, capabilities: { logging: {} } },
  );
  registerTools(server);
  registerOddTools(server, name);
  registerResources(server, name);
  server.registerPrompt(
    'greet',
    {
      title: 'Greet',
      description: 'Greets somebody.',
      argsSchema: z.object({ who: completable(z.string(), (start) => beginningWith(PEOPLE, start)) }),
    },
    ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${who}.` } }] }),
  );
  return server;
}

function registerTools(server: McpServer): void {
  server.registerTool(
    'echo',
    {
      title: 'Echo',
      description: 'Says it again.',
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ text: said }) => text(said),
  );
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => text(String(a + b)),
  );
  server.registerTool(
    'slow',
    { description: 'Takes its time.', inputSchema: z.object({ ms: z.number() }) },
    async ({ ms }, { mcpReq }) => text(await slowly(ms, mcpReq.signal)),
  );
  server.registerTool(
    'structured',
    {
      description: 'Weather, as data.',
      inputSchema: z.object({ city: z.string() }),
      outputSchema: z.object({ city: z.string(), celsius: z.number() }),
    },
    ({ city }) => ({ ...text(`21 degrees in ${city}`), structuredContent: { city, celsius: 21 } }),
  );
  server.registerTool('big', { description: 'Much text.', inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) =>
    text('x'.repeat(bytes)),
  );
}

function registerOddTools(server: McpServer, name: string): void {
  server.registerTool('failing', { description: 'Always fails.' }, () => ({
    ...text('this tool always fails'),
    isError: true,
  }));
  server.registerTool('image', { description: 'A picture.' }, () => ({
    content: [{ type: 'image', data: PNG, mimeType: 'image/png' }],
  }));
  server.registerTool('environment', { description: 'Environment of the server.' }, () => text(environmentJson()));
  server.registerTool('whoami', { description: 'Name of the server.' }, () => text(`${name} ${process.pid}`));
  server.registerTool('crash', { description: 'Ends the server.' }, () => crash());
}

function registerResources(server: McpServer, name: string): void {
  server.registerResource('greeting', greetingUri(name), { mimeType: 'text/plain', title: 'A greeting' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: `hello from ${name}` }],
  }));
  server.registerResource('picture', pictureUri(name), { mimeType: 'image/png' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }],
  }));
  server.registerResource(
    'item',
    new ResourceTemplate(itemTemplate(name), {
      list: undefined,
      complete: { id: (start) => beginningWith(CITIES, start) },
    }),
    { mimeType: 'text/plain', description: 'One item.' },
    (uri, { id }) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `item ${String(id)} of ${name}` }] }),
  );
}
