import { describe, expect, it } from 'vitest';
import { readServer } from './read-server.ts';

const COMMAND = { command: 'npx', args: ['x'] };
const URL = { url: 'https://a.example/mcp' };

const read = (value: object) => {
  const reading = readServer(value);
  if ('leftOut' in reading) throw new Error(reading.leftOut);
  return { rules: reading.rules, warnings: reading.warnings };
};
const mcpRemote = (...args: string[]) =>
  read({ command: 'npx', args: ['mcp-remote', 'https://a.example/mcp', ...args] });

/** Members as Codex 0.171.0, Gemini CLI 0.61.0, Qoder CLI 1.1.52, Kimi Code 2.1.0, Copilot CLI 1.0.102, Goose and Claude Code 2.1.332 read them. */
describe('a filter of tools', () => {
  it.each<[members: object, tools: readonly string[]]>([
    [{ enabled_tools: ['read', 'list'] }, ['read', 'list']],
    [{ enabledTools: ['read'] }, ['read']],
    [{ includeTools: ['read', 'run(ls)'] }, ['read', 'run']],
    [{ available_tools: ['read'] }, ['read']],
    [{ tools: ['read', 'read'] }, ['read']],
    [{ allowedTools: ['read'], disabledTools: [] }, ['read']],
    [{ includeTools: ['a', 'b', 'c_x'], excludeTools: ['b', 'c_*'] }, ['a']],
    [{ enabled_tools: ['a', 'b'], disabled_tools: ['b'] }, ['a']],
    [{ enabledTools: ['a', 'b'], tools: ['b', 'c'] }, ['b']],
  ])('%j is kept', (members, tools) => {
    for (const server of [COMMAND, URL])
      expect(read({ ...server, ...members })).toEqual({ rules: { tools }, warnings: [] });
  });

  it.each([{ enabled_tools: [] }, { includeTools: ['a'], excludeTools: ['a'] }])('%j hides every tool', (members) => {
    const [name = ''] = Object.keys(members);
    const warnings = [`its ${name} allows no tool: clients see none of it`];
    expect(read({ ...COMMAND, ...members })).toEqual({ rules: { tools: [] }, warnings });
  });

  it.each<[members: object, name: string, visible: string]>([
    [{ disabledTools: ['drop', 'write'] }, 'disabledTools', 'drop, write'],
    [{ disabled_tools: ['drop'] }, 'disabled_tools', 'drop'],
    [{ excludeTools: ['drop'] }, 'excludeTools', 'drop'],
    [{ disabledTools: { drop: true, read: false } }, 'disabledTools', 'drop'],
    [{ tools: { drop: false, read: true } }, 'tools', 'drop'],
    [{ tools: [{ name: 'drop', permission_policy: 'always_deny' }, { name: 'read' }] }, 'tools', 'drop'],
    [{ includeTools: ['read_*'] }, 'includeTools', 'all its tools'],
    [{ includeTools: 'read' }, 'includeTools', 'all its tools'],
    [{ tools: { drop: { approval_mode: 'prompt' } } }, 'tools', 'all its tools'],
  ])('%j that cannot be kept says what becomes visible', (members, name, visible) => {
    const warning = `its ${name} is left out: choose its tools with config.aggregation.tools of the VirtualMCPServer, because these become visible: ${visible}`;
    for (const server of [COMMAND, URL]) expect(read({ ...server, ...members })).toEqual({ warnings: [warning] });
  });

  it.each([{ tools: ['*'] }, { available_tools: [] }, { disabledTools: [] }, { tools: {} }, { includeTools: null }])(
    '%j has no effect',
    (members) => {
      expect(read({ ...COMMAND, ...members })).toEqual({ warnings: [] });
    },
  );

  it('of mcp-remote says what becomes visible', () => {
    expect(mcpRemote('--ignore-tool', 'delete*', '--ignore-tool', 'drop').warnings).toEqual([
      expect.stringMatching(/^its --ignore-tool is left out: .* visible: delete\*, drop$/u),
    ]);
  });
});

describe('a timeout', () => {
  it.each<[members: object, timeoutMs: number]>([
    [{ timeout: 60 }, 60_000],
    [{ timeout: 600_000 }, 600_000],
    [{ timeout: 5000 }, 5000],
    [{ tool_timeout_sec: 120 }, 120_000],
    [{ tool_timeout_sec: 0.5 }, 500],
    [{ toolTimeoutMs: 90_000, startupTimeoutMs: 10_000 }, 90_000],
    [{ request_timeout_ms: 45_000 }, 45_000],
    [{ timeout: { startup: 1000, request: 70_000 } }, 70_000],
    [{ tool_timeout_sec: 9_999_999_999 }, 2_147_483_000],
  ])('%j is kept', (members, timeoutMs) => {
    for (const server of [COMMAND, URL])
      expect(read({ ...server, ...members })).toEqual({ rules: { timeoutMs }, warnings: [] });
  });

  it.each<[members: object, timeoutMs: number, shown: string]>([
    [{ timeout: 1800 }, 1_800_000, '1800 is read as 1800s'],
    [{ timeout: 3000 }, 3000, '3000 is read as 3s'],
    [{ timeout: 1250 }, 1_250_000, '1250 is read as 1250s'],
  ])('%j may be seconds or milliseconds', (members, timeoutMs, shown) => {
    const warnings = [expect.stringContaining(`its timeout ${shown}: correct it in`)];
    expect(read({ ...COMMAND, ...members })).toEqual({ rules: { timeoutMs }, warnings });
  });

  it.each([
    { startup_timeout_sec: 120 },
    { startup_timeout_ms: 120_000, tool_timeout_sec: 60 },
    { startupTimeoutMs: 120_000 },
    { connectionTimeout: 120_000 },
    { timeout: { startup: 120_000 } },
  ])('%j for the start limits replies too', (members) => {
    const warnings = [expect.stringMatching(/^its limit for the start, 120s, also limits its replies/u)];
    expect(read({ ...COMMAND, ...members })).toEqual({ rules: { timeoutMs: 120_000 }, warnings });
  });

  it('for the start that is shorter than that for replies has no effect', () => {
    expect(read({ ...COMMAND, startup_timeout_sec: 20 })).toEqual({ warnings: [] });
  });

  it.each([{ timeout: 0 }, { timeout: -1 }, { timeout: '60s' }, { tool_timeout_sec: true }])(
    '%j is left out',
    (members) => {
      const [name = ''] = Object.keys(members);
      expect(read({ ...COMMAND, ...members }).warnings).toEqual([expect.stringContaining(`its ${name} is left out`)]);
    },
  );

  it('of mcp-remote is kept', () => {
    expect(mcpRemote('--headers-timeout', '60', '--body-timeout=90')).toEqual({
      rules: { timeoutMs: 90_000 },
      warnings: [],
    });
    const warnings = ['its --body-timeout is left out: vmcp limits the wait for each reply'];
    expect(mcpRemote('--body-timeout', '0')).toEqual({ warnings });
  });
});

describe('another member', () => {
  it.each<[server: object, members: object, effect: string]>([
    [URL, { headersHelper: '/bin/token' }, 'vmcp runs no command for headers'],
    [URL, { oauth: { clientId: 'a' } }, 'vmcp does not log in'],
    [URL, { auth: { CLIENT_ID: 'a' } }, 'vmcp does not log in'],
    [URL, { authProviderType: 'google_credentials' }, 'vmcp does not log in'],
    [URL, { requestOptions: { caBundlePath: '/ca.pem' } }, 'a CA of your own belongs into caBundleRef'],
    [URL, { requestOptions: { proxy: 'http://p' } }, 'a proxy into HTTPS_PROXY'],
    [URL, { verify: false }, 'vmcp connects by its own rules'],
    [URL, { cwd: '/work' }, 'it belongs to a command'],
    [URL, { args: ['x'] }, 'it belongs to a command'],
    [COMMAND, { headers: { A: 'b' } }, 'it belongs to a URL'],
    [COMMAND, { url: 'https://a.example' }, 'it belongs to a URL'],
    [COMMAND, { alwaysAllow: ['read'] }, 'your client asks before it calls these tools'],
    [COMMAND, { autoApprove: ['read'] }, 'your client asks before it calls these tools'],
    [COMMAND, { trust: true }, 'your client asks before it calls these tools'],
    [COMMAND, { autoStart: false }, 'vmcp starts every server'],
    [COMMAND, { required: true }, 'partialFailureMode'],
    [COMMAND, { sandboxEnabled: true }, 'vmcp does not know it'],
  ])('of %j causes one warning: %j', (server, members, effect) => {
    const [name = ''] = Object.keys(members);
    const { warnings } = read({ ...server, ...members });
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^its "?${name}"? is left out: `, 'u'))]);
    expect(warnings[0]).toContain(effect);
  });

  it.each([
    { alwaysAllow: [], autoApprove: [], trust: false, oauth: {}, headersHelper: '', autoStart: true, verify: true },
    { oauth: false, required: false, dev: null, description: 'a', icon: 'b.png', _note: 'c' },
  ])('%j has no effect', (members) => {
    expect(read({ ...COMMAND, ...members })).toEqual({ warnings: [] });
  });

  it('with variables of a URL names them, unless a header takes them', () => {
    const env = { NODE_EXTRA_CA_CERTS: '/ca.pem', HTTPS_PROXY: 'http://p', KEY: 'k' };
    const { warnings } = read({ ...URL, env, headers: { Authorization: 'Bearer ${KEY}' } });
    expect(warnings).toEqual([
      'NODE_EXTRA_CA_CERTS, HTTPS_PROXY is left out, because vmcp calls the URL itself: a CA of your own belongs into caBundleRef',
    ]);
  });
});
