import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadManifests, MAX_OBJECTS } from './load.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-load-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(dir, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}
async function problemsOf(text: string) {
  const { problems } = await loadManifests([await write('a.yaml', text)]);
  return problems.map(({ line, kind, name, path, reason }) => `${String(line)} ${kind}/${name} ${path} ${reason}`);
}

const API = 'apiVersion: vmcp.dev/v1alpha1';
const group = (name: string, namespace = 'default') =>
  `${API}\nkind: MCPGroup\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {}\n`;

describe('loadManifests', () => {
  it('indexes objects by namespace, default when none is named', async () => {
    const file = await write(
      'a.yaml',
      `${API}\nkind: MCPGroup\nmetadata: {name: b}\nspec: {}\n---\n${group('a')}---\n${group('c', 'other')}`,
    );
    const { snapshots, problems, files } = await loadManifests([file]);
    expect(problems).toEqual([]);
    expect(files).toEqual([file]);
    expect([...snapshots].map(([name, { groups }]) => [name, [...groups.keys()]])).toEqual([
      ['default', ['a', 'b']],
      ['other', ['c']],
    ]);
  });

  it('flattens a List and keeps the positions of its items', async () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n  - apiVersion: vmcp.dev/v1alpha1\n    kind: MCPGroup\n    metadata: {name: a}\n    spec:\n      wrong: 1\n`;
    expect(await problemsOf(text)).toEqual(['8 MCPGroup/a spec.wrong UnknownField']);
  });

  it.each([
    ['text', 'just text\n', ['1 Document/- - NotAnObject']],
    ['a list', '- a\n- b\n', ['1 Document/- - NotAnObject']],
    ['an empty file', '', ['1 File/a.yaml - NoManifests']],
    ['comments alone', '# nothing\n', ['1 File/a.yaml - NoManifests']],
    ['the file of a client', '{"mcpServers": {}}', ['1 File/a.yaml - MissingField']],
    ['the file of a client below a comment', '// a\n{"mcpServers": {"a": {}}}', ['1 File/a.yaml - MissingField']],
    ['the file of a client with comments', '// a\n{"servers": {"a": {}, // b\n}}', ['1 File/a.yaml - MissingField']],
    ['no kind', 'apiVersion: v1\nmetadata: {name: a}\n', ['1 (no kind)/a kind MissingField']],
    ['an unknown kind', `${API}\nkind: MCPServers\nmetadata: {name: a}\n`, ['2 MCPServers/a kind UnknownKind']],
    ['no apiVersion', 'kind: MCPGroup\nmetadata: {name: a}\n', ['1 MCPGroup/a apiVersion MissingField']],
    [
      'another version',
      'apiVersion: vmcp.dev/v1\nkind: MCPGroup\nmetadata: {name: a}\n',
      ['1 MCPGroup/a apiVersion InvalidValue'],
    ],
    ['no name', `${API}\nkind: MCPGroup\nmetadata: {}\n`, ['3 MCPGroup/(unnamed) metadata.name MissingField']],
    [
      'a number as name',
      `${API}\nkind: MCPGroup\nmetadata: {name: 12}\n`,
      ['3 MCPGroup/(unnamed) metadata.name InvalidType'],
    ],
    ['a bad name', `${API}\nkind: MCPGroup\nmetadata: {name: A_b}\n`, ['3 MCPGroup/A_b metadata.name InvalidName']],
    [
      'a bad namespace',
      `${API}\nkind: MCPGroup\nmetadata:\n  name: a\n  namespace: ../x\n`,
      ['5 MCPGroup/a metadata.namespace InvalidName'],
    ],
    [
      'a duplicate key',
      `${API}\nkind: MCPGroup\nmetadata: {name: a}\nspec:\n  description: x\n  description: y\n`,
      ['6 Document/1 spec.description DuplicateKey'],
    ],
  ])('refuses %s', async (_what, text, expected) => {
    expect(await problemsOf(text)).toEqual(expected);
  });

  it('names vmcp import for the file of a client', async () => {
    const file = await write('mcp.json', '{"servers": {"a": {"command": "npx"}}}');
    const { problems } = await loadManifests([file]);
    expect(problems.map(({ message }) => message)).toEqual([
      `this is the configuration of a client: vmcp import ${file} makes resources of it`,
    ]);
  });

  it('names the closest kind', async () => {
    const { problems } = await loadManifests([await write('a.yaml', `${API}\nkind: MCPServr\nmetadata: {name: a}\n`)]);
    expect(problems[0]?.message).toContain('did you mean MCPServer?');
  });

  it('reports the problems of all files together', async () => {
    await write('a.yaml', 'a: b: c\n');
    await write('b.yaml', `${API}\nkind: MCPServer\nmetadata: {name: s}\nspec: {imag: x, args: 1}\n`);
    const { problems } = await loadManifests([dir, join(dir, 'missing.yaml')]);
    expect(problems.map(({ reason }) => reason).toSorted()).toEqual([
      'FileNotFound',
      'InvalidType',
      'InvalidYAML',
      'MissingField',
      'UnknownField',
    ]);
  });

  it('reports both positions of a duplicate object and keeps the first', async () => {
    const first = await write('1.yaml', group('a'));
    const second = await write('2.yaml', `# two\n${group('a')}`);
    const { problems, snapshots } = await loadManifests([dir]);
    expect(problems).toMatchObject([{ file: second, line: 4, reason: 'DuplicateObject' }]);
    expect(problems[0]?.message).toContain(`${first}:3`);
    expect(snapshots.get('default')?.groups.size).toBe(1);
  });

  it('distinguishes objects of equal names by kind and namespace', async () => {
    const server = `${API}\nkind: MCPServer\nmetadata: {name: a}\nspec: {image: x}\n`;
    await write('a.yaml', `${group('a')}---\n${group('a', 'other')}---\n${server}`);
    expect((await loadManifests([dir])).problems).toEqual([]);
  });

  it('locates a field of an object, and returns undefined for an object that is in no file', async () => {
    const file = await write(
      'a.yaml',
      `${group('x')}---\n${API}\nkind: MCPServer\nmetadata: {name: s}\nspec:\n  image: x\n  env:\n    - name: A\n      value: b\n`,
    );
    const { locate } = await loadManifests([file]);
    const server = { kind: 'MCPServer', namespace: 'default', name: 's' };
    expect(locate(server, 'spec.env[0].value')).toEqual({ file, line: 13, column: 7 });
    expect(locate(server, 'spec.transport')).toMatchObject({ line: 9 });
    expect(locate({ ...server, name: 'other' }, 'spec')).toBeUndefined();
  });

  it('stops at too many objects', async () => {
    const file = await write(
      'a.yaml',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: Array.from({ length: MAX_OBJECTS + 1 }, () => 1).map((_, i) => ({ kind: String(i) })),
      }),
    );
    const { problems } = await loadManifests([file]);
    expect(problems).toMatchObject([{ reason: 'TooManyObjects' }]);
  });

  it('reports a folder without objects', async () => {
    await write('readme.md', 'hello');
    expect((await loadManifests([dir])).problems).toMatchObject([{ reason: 'NoManifests' }]);
  });
});

describe('Secrets and ConfigMaps', () => {
  const secret = (body: string) => `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n${body}`;
  const ref = { kind: 'Secret' as const, namespace: 'default', name: 's' };
  const text = async (value: Promise<Uint8Array | undefined>) => {
    const bytes = await value;
    return bytes && Buffer.from(bytes).toString();
  };

  it('decodes data, and prefers stringData', async () => {
    const file = await write(
      'a.yaml',
      secret(`type: Opaque\nimmutable: true\ndata: {a: ${btoa('one')}, b: ${btoa('two')}}\nstringData: {b: three}\n`),
    );
    const { problems, snapshots, secretValues } = await loadManifests([file]);
    expect(problems).toEqual([]);
    expect(snapshots.get('default')?.secrets.get('s')).toEqual({ name: 's', keys: ['a', 'b'] });
    expect(await text(secretValues.read({ ...ref, key: 'a' }))).toBe('one');
    expect(await text(secretValues.read({ ...ref, key: 'b' }))).toBe('three');
    expect(await text(secretValues.read({ ...ref, key: 'c' }))).toBeUndefined();
    expect(await text(secretValues.read({ ...ref, namespace: 'other', key: 'a' }))).toBeUndefined();
  });

  it.each([
    ['data that is no base64', 'data: {a: "hunter2!"}\n', '4 Secret/s data.a InvalidValue'],
    ['a value that is no text', 'stringData: {a: 12}\n', '4 Secret/s stringData.a InvalidType'],
    ['data that is no map', 'data: hunter2\n', '4 Secret/s data InvalidType'],
    ['a key that is no file name', 'stringData: {"a/b": hunter2}\n', '4 Secret/s stringData.a/b InvalidName'],
    ['the key ..', 'stringData: {"..": hunter2}\n', '4 Secret/s stringData[".."] InvalidName'],
    ['an unknown member', 'stringdata: {a: hunter2}\n', '4 Secret/s stringdata UnknownField'],
  ])('refuses %s without quoting it', async (_what, body, expected) => {
    const { problems } = await loadManifests([await write('a.yaml', secret(body))]);
    expect(problems.map((p) => `${String(p.line)} ${p.kind}/${p.name} ${p.path} ${p.reason}`)).toEqual([expected]);
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it('shows no Secret value when the result is printed without its objects', async () => {
    const { objects: _objects, ...rest } = await loadManifests([
      await write('a.yaml', secret('stringData: {a: hunter2}\n')),
    ]);
    expect(inspect(rest, { depth: Infinity, showHidden: true })).not.toContain('hunter2');
    expect(JSON.stringify(rest)).not.toContain('hunter2');
  });

  it('reads a ConfigMap with its text', async () => {
    const file = await write('a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {ca.crt: PEM}\n');
    const { snapshots, secretValues } = await loadManifests([file]);
    expect(snapshots.get('default')?.configMaps.get('c')?.data).toEqual({ 'ca.crt': 'PEM' });
    expect(await text(secretValues.read({ kind: 'ConfigMap', namespace: 'default', name: 'c', key: 'ca.crt' }))).toBe(
      'PEM',
    );
  });

  it('adds keys of the secrets folder after those of the files, and reads them again each time', async () => {
    const secretsDir = join(dir, 'secrets');
    await write('secrets/s/a', 'from folder');
    await write('secrets/s/z', 'only here');
    await write('secrets/other/k', 'v');
    await write('secrets/.hidden/k', 'v');
    const file = await write('a.yaml', secret('stringData: {a: from file}\n'));
    const { problems, snapshots, secretValues } = await loadManifests([file], { secretsDir });
    expect(problems).toEqual([]);
    expect(snapshots.get('default')?.secrets.get('s')?.keys).toEqual(['a', 'z']);
    expect([...(snapshots.get('default')?.secrets.keys() ?? [])]).toEqual(['other', 's']);
    expect(await text(secretValues.read({ ...ref, key: 'a' }))).toBe('from file');
    expect(await text(secretValues.read({ ...ref, key: 'z' }))).toBe('only here');
    await write('secrets/s/z', 'rotated');
    expect(await text(secretValues.read({ ...ref, key: 'z' }))).toBe('rotated');
    await rm(join(secretsDir, 's', 'z'));
    expect(await text(secretValues.read({ ...ref, key: 'z' }))).toBeUndefined();
    expect(await text(secretValues.read({ ...ref, name: '..', key: 'a.yaml' }))).toBeUndefined();
  });

  it('follows the links that kubelet makes in a mounted Secret', async () => {
    await write('secrets/s/..2026/a', 'v');
    await symlink('..2026', join(dir, 'secrets/s/..data'));
    await symlink('..data/a', join(dir, 'secrets/s/a'));
    const { snapshots, secretValues } = await loadManifests([await write('m/a.yaml', group('g'))], {
      secretsDir: join(dir, 'secrets'),
    });
    expect(snapshots.get('default')?.secrets.get('s')?.keys).toEqual(['a']);
    expect(await text(secretValues.read({ ...ref, key: 'a' }))).toBe('v');
  });

  it('reports a missing secrets folder', async () => {
    const { problems } = await loadManifests([await write('a.yaml', group('g'))], { secretsDir: join(dir, 'nope') });
    expect(problems).toMatchObject([{ reason: 'SecretsDirNotReadable' }]);
  });
});
