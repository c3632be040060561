import { describe, expect, it } from 'vitest';
import { readCallCounts, gatewayStatus } from './gateway-status.ts';
import { statusLines, statusTables } from './status.ts';

const METRICS = `# TYPE vmcp_backend_request_duration_seconds histogram
vmcp_backend_request_duration_seconds_bucket{le="+Inf",server="default/desk",backend="files",outcome="ok"} 9
vmcp_backend_request_duration_seconds_sum{server="default/desk",backend="files",outcome="ok"} 0.5
vmcp_backend_request_duration_seconds_count{server="default/desk",backend="files",outcome="ok"} 3
vmcp_backend_request_duration_seconds_count{server="default/desk",backend="files",outcome="timeout"} 1
vmcp_backend_request_duration_seconds_count{server="other/desk",backend="files",outcome="ok"} 7
vmcp_sessions{server="desk"} 2
`;

const desk = {
  name: 'desk',
  namespace: 'default',
  version: '0.1.0',
  sessions: 2,
  backends: [
    { name: 'files', health: 'healthy', transport: 'stdio', tools: 4 },
    { name: 'gone', health: 'unhealthy', transport: 'sse' },
  ],
  problems: [
    { reason: 'PackageNotFound', path: 'vmcp.backends.gone', message: 'backend "gone" cannot be started' },
    { reason: 'ConflictUnresolved', message: 'two tools have the same name' },
  ],
};
const health = {
  monitoring_enabled: true,
  backends: { files: { status: 'healthy' }, gone: { status: 'unhealthy', last_error_category: 'connection_failed' } },
};
const calls = readCallCounts(METRICS);
const NOW = Date.parse('2026-02-01T12:00:00Z');
const other = { ...desk, namespace: 'other', backends: [{ name: 'files', health: 'starting' }], problems: [] };

describe('the status of a gateway', () => {
  it('joins states, reasons and calls', () => {
    expect(gatewayStatus({ status: desk, health, calls })).toMatchObject([
      {
        name: 'desk',
        namespace: 'default',
        sessions: 2,
        backends: [
          { name: 'files', state: 'healthy', tools: 4, calls: 4 },
          { name: 'gone', state: 'unhealthy', calls: 0, reason: 'connection failed' },
        ],
      },
    ]);
  });

  it('prefers the reason of the gateway to the category of the last failure', () => {
    const reason = 'the process ended with code 1: BRAVE_API_KEY is missing';
    const reasoned = { backends: { gone: { reason, last_error_category: 'timeout' } } };
    const [server] = gatewayStatus({ status: desk, health: reasoned, calls }) ?? [];
    expect(server?.backends[1]?.reason).toBe(reason);
  });

  it('counts the calls of servers with equal names apart', () => {
    const servers = gatewayStatus({ status: { version: '1', servers: [desk, other] }, health: {}, calls }) ?? [];
    expect(servers.map(({ backends }) => backends[0]?.calls)).toEqual([4, 7]);
  });

  it.each([undefined, null, 'text', {}, { servers: [{}] }, { name: 'desk' }])('is not %j', (status) => {
    expect(gatewayStatus({ status, health, calls })).toBeUndefined();
  });
});

describe('the tables', () => {
  const status = { version: '1', servers: [desk, other] };
  const servers = gatewayStatus({ status, health: { servers: [health, {}] }, calls }) ?? [];

  it('have a row for each backend, and the problems that no row explains', () => {
    expect(statusTables(servers.slice(0, 1), () => 'http://127.0.0.1:4483/mcp', NOW)).toBe(
      `default/desk  http://127.0.0.1:4483/mcp  2 sessions
NAME   STATE      TOOLS  CALLS  REASON
files  healthy    4      4
gone   unhealthy  -      0      connection failed
two tools have the same name [ConflictUnresolved]
The log of the gateway has the errors of: gone
`,
    );
  });

  it('have the sessions with user, client, age and last use', () => {
    const session_list = Array.from({ length: 12 }, (_, index) => ({
      ...{ user: 'ann', client: 'claude-code 2.1', started_at: '2026-01-30T12:00:00Z' },
      last_used_at: new Date(NOW - 45_000 * (index * 3 + 1)).toISOString(),
    }));
    const status = { ...desk, sessions: 12, session_list };
    const [, sessions = ''] = statusTables(gatewayStatus({ status, health, calls }) ?? [], () => undefined, NOW).split(
      '\n\n',
    );
    expect(sessions.split('\n').map((line) => line.replaceAll(/ +/gu, ' '))).toEqual([
      'USER CLIENT AGE LAST USE',
      'ann claude-code 2.1 2d 45s ago',
      'ann claude-code 2.1 2d 3m ago',
      ...Array.from({ length: 8 }, () => expect.stringMatching(/^ann .* \d+m ago$/u) as unknown),
      'and 2 older sessions',
      '',
    ]);
  });

  it('are separated by an empty line', () => {
    const [, second] = statusTables(servers, () => undefined, NOW).split('\n\n');
    expect(second).toBe('other/desk  2 sessions\nNAME   STATE     TOOLS  CALLS  REASON\nfiles  starting  -      7\n');
  });

  it('become lines with the name of the server when there are several', () => {
    expect(statusLines(servers).map((line) => line.split(' ')[0])).toEqual([
      'NAME',
      'default/desk/files',
      'default/desk/gone',
      'other/desk/files',
    ]);
  });
});
