import { describe, expect, it } from 'vitest';
import { importedServers } from '../clients/imported-servers.ts';
import { parseDocuments } from '../files/document.ts';
import { isManifestObject, manifestObjects } from '../files/manifest-object.ts';
import { validateManifest } from '../files/validate.ts';
import { importFiles } from './import-files.ts';
import { starterFiles } from './folder-files.ts';
import { parseEnvText } from '../files/env-file.ts';

describe('import files', () => {
  const filesOf = (servers: Readonly<Record<string, unknown>>) => {
    const entries = Object.entries(servers).map(([name, value]) => ({ name, value }));
    return importFiles(importedServers(entries), 'desk');
  };
  const npx = (env: Readonly<Record<string, unknown>> = {}, ...args: string[]) => ({
    command: 'npx',
    args: ['x', ...args],
    env,
  });

  describe('importFiles', () => {
    it('writes a group, an endpoint, each server and the Secrets', () => {
      const { files, missing } = filesOf({
        Notes: npx({ API_KEY: 'sk-1', TEAM: '${input:team}', TOKEN: '${env:NOTES_TOKEN}' }, '--fast'),
        remote: { url: 'http://10.0.0.5:8000/mcp', headers: { Authorization: 'Bearer t' } },
      });
      expect(files.map(({ name, text }) => `== ${name}\n${text}`).join('')).toMatchInlineSnapshot(`
      "== gateway.yaml
      # The group of servers, and the endpoint that MCP clients connect to.
      # Start everything in this folder:  vmcp up FOLDER
      # Add a server:  vmcp add NAME npx://PACKAGE --dir FOLDER
      apiVersion: vmcp.dev/v1alpha1
      kind: MCPGroup
      metadata:
        name: desk
      spec:
        description: Servers behind one endpoint.
      ---
      # anonymous: every program on this machine can use the endpoint. type: oidc requires a login.
      apiVersion: vmcp.dev/v1alpha1
      kind: VirtualMCPServer
      metadata:
        name: desk
      spec:
        groupRef:
          name: desk
        incomingAuth:
          type: anonymous
      == notes.yaml
      # Server "Notes" of the imported file.
      apiVersion: vmcp.dev/v1alpha1
      kind: MCPServer
      metadata:
        name: notes
      spec:
        groupRef:
          name: desk
        image: npx://x
        transport: stdio
        args:
          - --fast
        env:
          - name: TOKEN
            fromEnv: NOTES_TOKEN
        secrets:
          - name: notes
            key: API_KEY
          - name: notes
            key: TEAM
      == remote.yaml
      # Server "remote" of the imported file.
      # Warning: its URL is http: anyone on the network path can read the requests
      apiVersion: vmcp.dev/v1alpha1
      kind: MCPServerEntry
      metadata:
        name: remote
      spec:
        groupRef:
          name: desk
        remoteUrl: http://10.0.0.5:8000/mcp
        transport: streamable-http
        insecureAllowHTTP: true
        allowPrivateEndpoint: true
        headerForward:
          addHeadersFromSecret:
            - headerName: Authorization
              valueSecretRef:
                name: remote
                key: Authorization
      == secrets.yaml
      # Secrets of the servers in this folder. Keep this file private: do not commit or share it.

      apiVersion: v1
      kind: Secret
      metadata:
        name: notes
      stringData:
        API_KEY: sk-1
        # TEAM: "" # in place of \${input:team}
      ---
      apiVersion: v1
      kind: Secret
      metadata:
        name: remote
        annotations:
          vmcp.dev/allowed-hosts: 10.0.0.5:8000
      stringData:
        Authorization: Bearer t
      "
    `);
      expect(files.at(-1)?.mode).toBe(0o600);
      expect(missing).toEqual([{ secret: 'notes', key: 'TEAM', origin: '${input:team}' }]);
    });

    it('writes only what the kinds accept', () => {
      const { files } = filesOf({
        plain: npx(),
        texts: npx({
          A: 'yes',
          B: '1',
          C: 'null',
          D: '',
          E: 'line 1\nline 2\n',
          F: '# x: y',
          G: '--- ',
          H: '\t"\\\u0007',
        }),
        missing: npx({ A: '${input:a}', B: 'x\n---\nkind: Secret ${b}' }),
        sse: { type: 'sse', url: 'https://a.example/events', headers: { 'X!#$': 'a', authorization: '${T}' } },
        'a\n---\nkind: Secret': npx(),
      });
      const documents = files.flatMap(({ name, text }) => {
        const { documents: parsed, problems } = parseDocuments(name, text);
        expect(problems).toEqual([]);
        return parsed.flatMap((document) => manifestObjects(document)).filter(isManifestObject);
      });
      expect(documents.map((document) => validateManifest(document)).filter(({ is }) => is === 'refused')).toEqual([]);
      expect(documents.map(({ kind, name }) => `${kind}/${name}`)).toEqual(files.flatMap(({ objects }) => objects));
      const texts = documents.find(({ kind, name }) => kind === 'Secret' && name === 'texts');
      expect(texts?.value['stringData']).toMatchObject({
        A: 'yes',
        B: '1',
        C: 'null',
        D: '',
        E: 'line 1\nline 2\n',
        H: '\t"\\\u0007',
      });
    });

    it('leaves out what the kinds reject', () => {
      const { files, servers, leftOut } = filesOf({
        long: { url: `https://a.example/${'x'.repeat(2048)}` },
        many: npx({}, ...Array.from({ length: 300 }, () => 'x')),
        key: npx({ '..': 'x' }),
        fine: npx(),
      });
      expect(servers.map(({ name }) => name)).toEqual(['fine']);
      expect(files.map(({ name }) => name)).toEqual(['gateway.yaml', 'fine.yaml']);
      expect(leftOut).toEqual([
        { original: 'long', reason: expect.stringMatching(/^spec\.remoteUrl: /u) as unknown },
        { original: 'many', reason: expect.stringMatching(/^spec\.args: /u) as unknown },
        { original: 'key', reason: expect.stringMatching(/a key is 1 to 253/u) as unknown },
      ]);
    });

    it('writes filters of tools and timeouts into the VirtualMCPServer', () => {
      const { files } = filesOf({
        notes: { ...npx(), includeTools: ['read', 'list'], timeout: 60_000 },
        '1': { ...npx(), enabled_tools: [], tool_timeout_sec: 1.5 },
        refused: { ...npx({ '..': 'x' }), timeout: 60 },
        plain: npx(),
      });
      const { documents, problems } = parseDocuments('gateway.yaml', files[0]?.text ?? '');
      expect(problems).toEqual([]);
      const server = documents.flatMap((document) => manifestObjects(document)).filter(isManifestObject)[1];
      expect(server?.value['spec']).toMatchObject({
        config: {
          aggregation: {
            tools: [
              { workload: '1', excludeAll: true },
              { workload: 'notes', filter: ['read', 'list'] },
            ],
          },
          operational: { timeouts: { perWorkload: { notes: '60s', '1': '1500ms' } } },
        },
      });
      expect(server && validateManifest(server)).toMatchObject({ is: 'resource' });
      expect(files[0]?.text).not.toContain('refused');
    });

    it('gives servers files of their own', () => {
      const { files } = filesOf({ secrets: npx({ A: 'b' }), gateway: npx(), 'secrets-2': npx() });
      expect(files.map(({ name }) => name)).toEqual([
        'gateway.yaml',
        'secrets-2.yaml',
        'gateway-2.yaml',
        'secrets-2-2.yaml',
        'secrets.yaml',
      ]);
    });

    it('writes no value of a Secret into another file', () => {
      const { files } = filesOf({
        a: npx({ MODE: 'value-of-mode' }),
        b: { url: 'https://a.example', headers: { X: 'value-of-x' } },
      });
      const readable = files.filter(({ mode }) => mode === undefined).map(({ text }) => text);
      expect(readable.join('')).not.toContain('value-of');
    });

    it('lets only the owner read a resource with a secret in its arguments or URL', () => {
      const { files } = filesOf({
        args: { command: 'npx', args: ['x', '--token', 'ghp_0123456789'] },
        url: { url: 'https://a.example/mcp?api_key=0123456789' },
        plain: npx(),
      });
      expect(files.map(({ name, mode }) => [name, mode])).toEqual([
        ['gateway.yaml', undefined],
        ['args.yaml', 0o600],
        ['url.yaml', 0o600],
        ['plain.yaml', undefined],
      ]);
    });
  });

  it('starterFiles have a comment at the top of each', () => {
    for (const { text } of starterFiles('desk')) expect(text).toMatch(/^# \w/u);
  });
});

describe('default values', () => {
  const filesOf = (...envs: readonly Readonly<Record<string, string>>[]) =>
    importFiles(
      importedServers(
        envs.map((env, index) => ({ name: `s${String(index)}`, value: { command: 'npx', args: ['x'], env } })),
      ),
      'desk',
    );

  it('a default of a variable goes to a .env that only its owner reads', () => {
    const { files, servers } = filesOf(
      { A: '${HOST:-db}', B: '${QUOTED:-it\'s "x" # y}', C: '${EMPTY:-}' },
      { A: '${HOST:-db}' },
    );
    const file = files.find(({ name }) => name === '.env');
    expect(file).toMatchObject({ mode: 0o600, objects: [] });
    expect(Object.fromEntries(parseEnvText(file?.text ?? '').values)).toEqual({
      HOST: 'db',
      QUOTED: 'it\'s "x" # y',
      EMPTY: '',
    });
    expect(servers[0]?.spec).toMatchObject({
      env: [
        { name: 'A', fromEnv: 'HOST' },
        { name: 'B', fromEnv: 'QUOTED' },
        { name: 'C', fromEnv: 'EMPTY' },
      ],
      secrets: [],
    });
    expect(servers.flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  it.each(['other', '\'`"'])('a second or unquotable default %s becomes a value, with a warning', (fallback) => {
    const { servers } = filesOf({ A: '${HOST:-db}' }, { A: `\${HOST:-${fallback}}` });
    expect(servers[1]).toMatchObject({
      spec: { env: [], secrets: [{ name: 'A', value: fallback }] },
      warnings: ['A has the default of HOST: write another value into its Secret where your client has one'],
    });
  });

  it('there is no .env without a default', () => {
    expect(filesOf({ A: '${HOST}' }).files.map(({ name }) => name)).not.toContain('.env');
  });
});
