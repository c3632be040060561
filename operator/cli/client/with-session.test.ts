import { expect, it } from 'vitest';
import { chooseEndpoint, type EndpointFlags } from './with-session.ts';

const server = (namespace: string, name: string, port: number) => ({
  namespace,
  name,
  mcpUrl: `http://127.0.0.1:${String(port)}/mcp`,
});
const managementUrl = 'http://127.0.0.1:8080';
const [desk, web, otherDesk] = [server('default', 'desk', 1), server('default', 'web', 2), server('team', 'desk', 3)];
const running = (...servers: (typeof desk)[]) => ({ pid: 1, startTime: '1', managementUrl, servers });

it.each([
  ['the only server', {}, running(desk), desk.mcpUrl],
  ['a server by its name', { name: 'web' }, running(desk, web), web.mcpUrl],
  ['a server by namespace and name', { name: 'team/desk' }, running(desk, otherDesk), otherDesk.mcpUrl],
])('chooses %s', (_, flags: EndpointFlags, state, mcpUrl) => {
  expect(chooseEndpoint(flags, state, '/state')).toEqual({ mcpUrl, managementUrl });
});

it('prefers a URL to the running gateway', () => {
  const url = 'https://tools.example.com/mcp';
  expect(chooseEndpoint({ url }, running(desk), '/state')).toEqual({ mcpUrl: url, managementUrl: undefined });
});

it.each([
  ['no gateway runs', {}, undefined, /state folder \/state: start one with vmcp up, or name one with --url/u],
  ['there are several', {}, running(desk, web), /choose one with --name \(default\/desk, default\/web\)/u],
  ['the name is unknown', { name: 'dsk' }, running(desk), /no virtual server "dsk": choose one of default\/desk/u],
  ['the name is ambiguous', { name: 'desk' }, running(desk, otherDesk), /several namespaces.*team\/desk/u],
])('explains that %s', (_, flags: EndpointFlags, state, sentence) => {
  expect(chooseEndpoint(flags, state, '/state')).toEqual({ problem: expect.stringMatching(sentence) as unknown });
});
