import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startManagementServer } from '../testdata/management-server.ts';
import { CLIENTS } from './clients.ts';

const P = '/api/v1beta';
const ENDPOINT = { name: 'team', url: 'http://127.0.0.1:4483/mcp', group: 'default' };
const CURSOR = '// my servers\n{\n  "mcpServers": {\n    "own": { "url": "https://example.com/mcp" } // keep\n  }\n}\n';

async function serveWithCursor(text = CURSOR) {
  const server = await startManagementServer({ endpoints: () => [ENDPOINT] });
  const file = join(server.home, '.cursor/mcp.json');
  mkdirSync(join(server.home, '.cursor'));
  writeFileSync(file, text);
  return { ...server, file, text: () => readFileSync(file, 'utf8') };
}

describe('registering clients', () => {
  it('writes the entry into the file of the client, and unregistering restores the file byte for byte', async () => {
    const { send, text } = await serveWithCursor();
    const registered = await send('POST', `${P}/clients`, { name: 'cursor' });
    expect([registered.status, registered.json]).toEqual([200, { name: 'cursor', groups: ['default'] }]);
    expect(text()).toContain('http://127.0.0.1:4483/mcp');
    expect(text()).toContain('// my servers');
    expect((await send('GET', `${P}/clients`)).json).toEqual([{ name: 'cursor', groups: ['default'] }]);
    expect((await send('POST', `${P}/clients/unregister`, { names: ['cursor'] })).status).toBe(204);
    expect(text()).toBe(CURSOR);
    expect((await send('GET', `${P}/clients`)).json).toEqual([]);
  });

  it('creates a missing file with mode 0600 for each of several clients', async () => {
    const { send, home } = await startManagementServer({ endpoints: () => [ENDPOINT] });
    const { status, json } = await send('POST', `${P}/clients/register`, {
      names: ['gemini-cli', 'codex'],
      groups: [],
    });
    expect(status).toBe(200);
    expect(json).toEqual([
      { name: 'gemini-cli', groups: ['default'] },
      { name: 'codex', groups: ['default'] },
    ]);
    expect(readFileSync(join(home, '.gemini/settings.json'), 'utf8')).toContain(ENDPOINT.url);
    expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toContain(ENDPOINT.url);
  });

  it('writes no entry for endpoints of other groups', async () => {
    const { send, text } = await serveWithCursor();
    await send('POST', `${P}/groups`, { name: 'other' });
    const { json } = await send('POST', `${P}/clients`, { name: 'cursor', groups: ['other'] });
    expect(json).toEqual({ name: 'cursor', groups: ['other'] });
    expect(text()).toBe(CURSOR);
  });

  it('keeps the entry until the client has left every group with the endpoint', async () => {
    const { send, text } = await serveWithCursor();
    await send('POST', `${P}/groups`, { name: 'other' });
    await send('POST', `${P}/clients`, { name: 'cursor', groups: ['default', 'other'] });
    expect((await send('DELETE', `${P}/clients/cursor/groups/other`)).status).toBe(204);
    expect(text()).toContain(ENDPOINT.url);
    expect((await send('DELETE', `${P}/clients/cursor`)).status).toBe(204);
    expect(text()).toBe(CURSOR);
  });

  it('lists the status of every client in the order of the table', async () => {
    const { send } = await serveWithCursor();
    await send('POST', `${P}/clients`, { name: 'zed' });
    const { clients } = (await send('GET', `${P}/discovery/clients`)).json as { clients: Record<string, unknown>[] };
    expect(clients.map(({ client_type }) => client_type)).toEqual(CLIENTS.map(({ type }) => type));
    const of = (type: string) => clients.find(({ client_type }) => client_type === type);
    expect(of('cursor')).toMatchObject({ installed: true, registered: false });
    expect(of('zed')).toMatchObject({ installed: true, registered: true }); // the entry has created its file
    expect(of('windsurf')).toMatchObject({ installed: false, registered: false });
  });
});

describe('a rejected request writes nothing:', () => {
  it.each([
    ['a body that is not JSON', '{', 400],
    ['an empty body', '', 400],
    ['a name of a wrong type', '{"name": 7}', 400],
    ['a missing name', '{}', 400],
    ['an unknown client', '{"name": "netscape"}', 400],
    ['an unknown group', '{"name": "cursor", "groups": ["nobody"]}', 404],
  ])('%s', async (_name, body, status) => {
    const { send, text, stateDir } = await serveWithCursor();
    expect((await send('POST', `${P}/clients`, body)).status).toBe(status);
    expect(text()).toBe(CURSOR);
    expect(existsSync(join(stateDir, 'groups.json'))).toBe(false);
  });

  it('a body without names, or with one unknown name', async () => {
    const { send, text } = await serveWithCursor();
    expect((await send('POST', `${P}/clients/register`, { names: [] })).status).toBe(400);
    const mixed = await send('POST', `${P}/clients/register`, { names: ['cursor', 'netscape'] });
    expect([mixed.status, mixed.text]).toEqual([
      400,
      expect.stringMatching(/^body\.names\[1\] must be one of roo-code, /u),
    ]);
    expect(text()).toBe(CURSOR);
  });

  it('registering in a file that is not valid', async () => {
    const { send, text, file } = await serveWithCursor('{"mcpServers": [');
    const { status, text: message } = await send('POST', `${P}/clients/register`, { names: ['zed', 'cursor'] });
    expect([status, message.includes(file)]).toEqual([500, true]);
    expect(text()).toBe('{"mcpServers": [');
    expect((await send('GET', `${P}/clients`)).json).toEqual([]);
  });

  it('registering in a read-only file, which also restores the file that was written before', async () => {
    const { send, file, home } = await serveWithCursor();
    chmodSync(file, 0o400);
    expect((await send('POST', `${P}/clients/register`, { names: ['gemini-cli', 'cursor'] })).status).toBe(500);
    expect(existsSync(join(home, '.gemini/settings.json'))).toBe(false);
  });

  it('registering when the user already has an entry of the same name', async () => {
    const own = '{"mcpServers": {"team": {"command": "node"}}}';
    const { send, text } = await serveWithCursor(own);
    const { status, text: message } = await send('POST', `${P}/clients`, { name: 'cursor' });
    expect([status, message.includes('remove it first')]).toEqual([409, true]);
    expect(text()).toBe(own);
  });

  it('unregistering a client that is not registered, or not in that group', async () => {
    const { send } = await serveWithCursor();
    expect((await send('DELETE', `${P}/clients/cursor`)).status).toBe(404);
    expect((await send('DELETE', `${P}/clients/netscape`)).status).toBe(400);
    expect((await send('DELETE', `${P}/clients/cursor/groups/nobody`)).status).toBe(404);
    expect((await send('POST', `${P}/clients/unregister`, { names: ['netscape'] })).status).toBe(400);
  });
});
