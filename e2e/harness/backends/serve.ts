/**
 * A fixture server as a process: `node serve.ts KIND [NAME]`. HTTP kinds listen on PORT, the others speak over stdio.
 * The bad kinds end at once, never answer, or print something other than JSON.
 */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { fixtureV1 } from './fixture-v1.ts';
import { fixtureV2 } from './fixture-v2.ts';
import { HTTP_KINDS, startHttpBackend, type HttpKindName } from './http.ts';
import { pagedServer } from './paged.ts';

const [kind = '', name = 'fixture'] = process.argv.slice(2);

const STDIO_KINDS: Readonly<Record<string, () => unknown>> = {
  'stdio-sdk-1': () => fixtureV1(name).connect(new StdioServerTransport()),
  'stdio-sdk-2': () => serveStdio(() => fixtureV2(name)),
  'stdio-paged': () => pagedServer(name).connect(new StdioServerTransport()),
  'crash-loop': () => {
    process.stderr.write('fixture: cannot find my configuration\n');
    process.exitCode = 3;
  },
  hang: () => process.stdin.resume(),
  garbage: () =>
    process.stdin.on('data', () => {
      process.stdout.write('Welcome to the server!\n{"jsonrpc": oops}\n');
    }),
};

const isHttp = (name: string): name is HttpKindName => Object.hasOwn(HTTP_KINDS, name);

if (isHttp(kind)) await startHttpBackend({ defer: () => undefined }, kind, name, Number(process.env['PORT']));
else if (STDIO_KINDS[kind]) await STDIO_KINDS[kind]();
else throw new Error(`unknown kind of server: ${kind}`);
