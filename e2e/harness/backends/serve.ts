/**
 * A fixture server as a process: `node serve.ts KIND [NAME]`. HTTP kinds listen on PORT, the others speak over stdio.
 * The bad kinds end at once, never answer, or print something other than JSON.
 */
const [kind = '', name = 'fixture'] = process.argv.slice(2);

/** Each kind imports only what it needs: an SDK takes half a second of a start. */
const STDIO_KINDS: Readonly<Record<string, () => unknown>> = {
  async 'stdio-sdk-1'() {
    const { fixtureV1 } = await import('./fixture-v1.ts');
    await fixtureV1(name).connect(await stdioOfSdk1());
  },
  async 'stdio-sdk-2'() {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    const { fixtureV2 } = await import('./fixture-v2.ts');
    serveStdio(() => fixtureV2(name));
  },
  async 'stdio-paged'() {
    const { pagedServer } = await import('./paged.ts');
    await pagedServer(name).connect(await stdioOfSdk1());
  },
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

async function stdioOfSdk1() {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  return new StdioServerTransport();
}

async function serveHttp(): Promise<void> {
  const { HTTP_KINDS, startHttpBackend } = await import('./http.ts');
  const isHttp = (text: string): text is keyof typeof HTTP_KINDS => Object.hasOwn(HTTP_KINDS, text);
  if (!isHttp(kind)) throw new Error(`unknown kind of server: ${kind}`);
  await startHttpBackend({ defer: () => undefined }, kind, name, Number(process.env['PORT']));
}

await(STDIO_KINDS[kind] ?? serveHttp)();
