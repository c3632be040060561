import { stringify as stringifyToml } from 'smol-toml';
import { expect, it } from 'vitest';
import { stringify as stringifyYaml } from 'yaml';
import { readClientFile } from '../clients/client-file.ts';
import { importedServers } from '../clients/imported-servers.ts';
import { parseDocuments } from '../files/document.ts';
import { isManifestObject, manifestObjects } from '../files/manifest-object.ts';
import { validateManifest } from '../files/validate.ts';
import { importFiles } from './import-files.ts';

type Server = Readonly<Record<string, unknown>>;

const line = (text: string, more: Server = {}): Server => {
  const [command, ...args] = text.split(' ');
  return { command, args, ...more };
};

/**
 * Shapes of published configurations: how often each occurs among 384 of them, and the server with a number for its names.
 * A reason marks a shape that is left out.
 */
const SHAPES: readonly (readonly [count: number, server: (number: number) => Server, leftOut?: string])[] = [
  [96, (n) => line(`npx -y @acme/server-${n}`, { env: { API_KEY: 'YOUR_API_KEY' } })],
  [30, (n) => line(`npx -y server-${n}@latest --verbose`)],
  [14, (n) => line(`npx server-${n}`, { type: 'stdio', env: { API_KEY: '${input:key}' } })],
  [10, (n) => line(`cmd /c npx -y server-${n}`, { disabled: false, autoApprove: [] })],
  [6, (n) => line(`npx -y -p @acme/tools-${n} server`)],
  [5, (n) => line(`bunx server-${n}`)],
  [4, (n) => line(`pnpm dlx server-${n}`)],
  [1, (n) => line(`yarn dlx server-${n}`)],
  [2, (n) => line(`npm exec -y server-${n}`)],
  [34, (n) => line(`uvx server-${n}`, { env: { TOKEN: '<token>' } })],
  [12, (n) => line(`uvx --from acme-${n}==1.0 serve --transport stdio`)],
  [3, (n) => line(`uv tool run server-${n}`)],
  [3, (n) => line(`uv run --with acme-${n} acme-${n}`)],
  [2, (n) => line(`pipx run server-${n}`)],
  [16, (n) => line(`uv --directory /path/to/server-${n} run server.py`)],
  [14, (n) => line(`docker run -i --rm -e TOKEN ghcr.io/acme/server-${n}`, { env: { TOKEN: 'xxx' } })],
  [8, (n) => line(`docker run -i --rm --mount type=bind,src=/home/me,dst=/data mcp/server-${n} /data`)],
  [6, (n) => line(`podman run -i --rm mcp/server-${n}`)],
  [26, (n) => line(`node /path/to/server-${n}/dist/index.js`, { env: { PORT: 3000 } })],
  [16, (n) => line(`python -m server_${n}`, { cwd: '/path/to/server', env: {} })],
  [6, (n) => line(`/usr/local/bin/server-${n}`)],
  [2, (n) => line(`/usr/bin/env npx -y server-${n}`)],
  [20, (n) => ({ url: `https://server-${n}.example/mcp` })],
  [10, (n) => ({ type: 'http', url: `https://server-${n}.example/mcp`, headers: { Authorization: 'Bearer abc' } })],
  [4, (n) => ({ type: 'sse', url: `https://server-${n}.example/sse` })],
  [9, (n) => line(`npx -y mcp-remote https://server-${n}.example/mcp`)],
  [
    3,
    (n) =>
      line(`npx mcp-remote https://server-${n}.example/sse --header`, {
        args: ['mcp-remote', `https://server-${n}.example/sse`, '--header', 'Authorization:${AUTH}'],
        env: { AUTH: 'Bearer abc' },
      }),
  ],
  [4, (n) => line(`npx -y server-${n}`, { timeout: 60_000, trust: false, includeTools: ['read'] })],
  [
    2,
    (n) =>
      line(`npx -y server-${n}`, {
        env: { KEY: '${KEY:-none}', HOME_DIR: '$HOME' },
        args: ['-y', `server-${n}`, '${DIR:-/tmp}'],
      }),
  ],
  [4, (n) => line(`uvx --from git+https://git.example/acme/server-${n} serve`), 'is not a package of PyPI'],
  [3, (n) => line(`npx -y github:acme/server-${n}`), 'is not a package of the npm registry'],
  [4, (n) => line(`docker run -i --rm -p 3000:3000 acme/server-${n}`), 'no equivalent of docker run -p'],
  [2, (n) => line(`docker run -i --rm --env-file .env acme/server-${n}`), 'no equivalent of docker run --env-file'],
  [2, (n) => line(`C:\\tools\\server-${n}.exe`), 'is not npx, uvx or docker'],
  [1, (n) => ({ url: `wss://server-${n}.example` }), 'not an http or https URL'],
];

type Servers = Readonly<Record<string, Server>>;

/** Files of clients around the same servers, by the member that holds them. */
const FILES: readonly ((servers: Servers) => string)[] = [
  (servers) => JSON.stringify({ mcpServers: servers }),
  (servers) => `// VS Code\n${JSON.stringify({ inputs: [], servers })}`,
  (servers) => JSON.stringify({ context_servers: servers }),
  (servers) => JSON.stringify({ 'amp.mcpServers': servers }),
  (servers) => JSON.stringify({ mcp: servers }),
  (servers) => stringifyToml({ model: 'x', mcp_servers: servers }),
  (servers) => stringifyYaml({ mcpServers: Object.entries(servers).map(([name, server]) => ({ name, ...server })) }),
];

const importOf = (text: string) => {
  const file = readClientFile(text);
  if ('fault' in file) throw new Error(file.fault.message);
  return importFiles(importedServers(file.entries), 'desk');
};

const CORPUS = SHAPES.flatMap(([count, server, leftOut]) =>
  Array.from({ length: count }, () => ({ server, leftOut })),
).map(({ server, leftOut }, index) => ({ name: `s${String(index)}`, server: server(index), leftOut }));

it('384 published configurations are carried over whole, but for the ones with a true reason', () => {
  expect(CORPUS).toHaveLength(384);
  const servers = Object.fromEntries(CORPUS.map(({ name, server }) => [name, server]));
  const refused = CORPUS.flatMap(({ name, leftOut }) => (leftOut === undefined ? [] : [[name, leftOut] as const]));
  expect(refused.length / CORPUS.length).toBeLessThan(0.05);
  const { servers: read, leftOut, files } = importOf(JSON.stringify({ mcpServers: servers }));
  expect(leftOut.map(({ original, reason }) => [original, reason])).toEqual(
    refused.map(([name, reason]) => [name, expect.stringContaining(reason) as unknown]),
  );
  expect(read.map(({ original }) => original)).toEqual(
    CORPUS.filter((entry) => entry.leftOut === undefined).map(({ name }) => name),
  );
  const warnings = read.flatMap((server) => server.warnings.map((warning) => `${server.name}: ${warning}`));
  expect(warnings.filter((warning) => /left out|not read|not replace/u.test(warning))).toEqual([]);
  const documents = files
    .filter(({ name }) => name.endsWith('.yaml'))
    .flatMap(({ name, text }) => parseDocuments(name, text).documents);
  const objects = documents.flatMap((document) => manifestObjects(document)).filter(isManifestObject);
  expect(objects.map((document) => validateManifest(document)).filter(({ is }) => is === 'refused')).toEqual([]);
});

it('the file of every client says the same about a server', () => {
  const servers = Object.fromEntries(SHAPES.map(([, server], index) => [`s${String(index)}`, server(index)]));
  const [first, ...others] = FILES.map((file) => {
    const { servers: read, leftOut } = importOf(file(servers));
    return {
      names: read.map(({ name }) => name),
      images: read.map(({ spec }) => ('image' in spec ? spec.image : spec.url)),
      leftOut,
    };
  });
  for (const other of others) expect(other).toEqual(first);
});

it('every further setting of a server is carried over or causes one warning', () => {
  const settings: Server = {
    alwaysAllow: ['read'],
    disabledTools: ['drop'],
    headersHelper: '/bin/token',
    oauth: { clientId: 'a' },
    authProviderType: 'google_credentials',
    surprise: 1,
  };
  const fine = SHAPES.filter(([, , leftOut]) => leftOut === undefined).map(([, server]) => server(1));
  for (const server of fine) {
    const countOf = (value: Server) => importedServers([{ name: 'a', value }]).servers[0]?.warnings.length ?? 0;
    const filters = 'includeTools' in server ? 1 : 0; // a list of tools to show hides all others
    expect(countOf({ ...server, ...settings }), JSON.stringify(server)).toBe(
      countOf(server) + Object.keys(settings).length - filters,
    );
  }
});
