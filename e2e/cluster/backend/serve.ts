/**
 * The MCP servers of the end-to-end tests as a container: `serve.mjs KIND [NAME]`. HTTP kinds listen on PORT on every address,
 * the others use stdio. As process 1 it must handle SIGTERM itself: the kernel has no default for it.
 */
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { fixtureV1 } from '../../harness/backends/fixture-v1.ts';
import { fixtureV2 } from '../../harness/backends/fixture-v2.ts';
import { HTTP_KINDS, type HttpKindName } from '../../harness/backends/http.ts';

const [kind = '', name = 'fixture'] = process.argv.slice(2);

const STDIO_KINDS: Readonly<Record<string, () => unknown>> = {
  'stdio-sdk-1': () => fixtureV1(name).connect(new StdioServerTransport()),
  'stdio-sdk-2': () => serveStdio(() => fixtureV2(name)),
};

const isHttp = (text: string): text is HttpKindName => Object.hasOwn(HTTP_KINDS, text);

/** Serves a kind of HTTP server; parses the bodies of POST requests for its handlers. */
function serveHttp(httpKind: HttpKindName, port: number): void {
  const handle = HTTP_KINDS[httpKind].create(name);
  const server = createServer((req, res) => {
    void buffer(req)
      .then((bytes) => handle(req, res, bytes.length === 0 ? undefined : JSON.parse(bytes.toString('utf8'))))
      .catch(() => res.destroy());
  });
  server.keepAliveTimeout = 60_000;
  server.listen(port, () => process.stderr.write(`${httpKind} ${name} listens on ${port}\n`));
  process.once('SIGTERM', () => {
    // Closing an idle connection could lose a call that is being sent; `Connection: close` asks the client to close it.
    server.prependListener('request', (_req, res) => {
      res.shouldKeepAlive = false;
    });
    setTimeout(() => process.exit(0), 5_000);
  });
}

if (isHttp(kind)) serveHttp(kind, Number(process.env['PORT'] ?? 8080));
else if (STDIO_KINDS[kind]) {
  process.once('SIGTERM', () => process.exit(0));
  await STDIO_KINDS[kind]();
} else throw new Error(`no such kind of server: ${kind}`);
