import { describe, expect, it } from 'vitest';
import type { Running } from '../../local/running.ts';
import { chooseEndpoint, type EndpointFlags } from './choose-endpoint.ts';

const running = (...names: string[]): Running => ({
  pid: 1,
  startTime: 'x',
  managementUrl: 'http://127.0.0.1:8080',
  servers: names.map((name, index) => ({
    name: name.replace(/^.*\//u, ''),
    namespace: name.replace(/\/.*$/u, ''),
    mcpUrl: `http://127.0.0.1:${String(4483 + index)}/mcp`,
  })),
});
const choose = (flags: EndpointFlags, ...names: string[]) =>
  chooseEndpoint(flags, names.length > 0 ? running(...names) : undefined, '/state');

describe('chooseEndpoint', () => {
  it.each([
    [{}, ['a/one'], 'one', 4483],
    [{ name: 'mine' }, ['a/one'], 'mine', 4483],
    [{ name: 'two' }, ['a/one', 'a/two'], 'two', 4484],
    [{ name: 'b/one' }, ['a/one', 'b/one'], 'one', 4484],
  ])('with %j and %j running is %s', (flags, names, name, port) => {
    expect(choose(flags, ...names)).toEqual({ endpoint: { name, url: `http://127.0.0.1:${String(port)}/mcp` } });
  });

  it('prefers --url, whose entry is called vmcp', () => {
    const url = 'https://tools.example/mcp';
    expect(choose({ url }, 'a/one')).toEqual({ endpoint: { name: 'vmcp', url } });
    expect(choose({ url, name: 'x' })).toEqual({ endpoint: { name: 'x', url } });
  });

  it.each([
    [{}, [], 'no vmcp up runs with the state folder /state: start it, or name the URL with --url', false],
    [{}, ['a/one', 'a/two'], 'several virtual servers run (a/one, a/two): choose one with --name', true],
    [{ name: 'x' }, ['a/one', 'a/two'], 'no virtual server "x" runs: choose one of a/one, a/two', true],
    [{ name: 'one' }, ['a/one', 'b/one'], 'several virtual servers are called "one": choose one of a/one, b/one', true],
    [{ name: 'a b' }, ['a/one'], '--name must start with a letter', true],
    [{ url: 'ftp://x' }, [], '--url must be an http or https URL', true],
    [{ url: 'http://ann:secret@x/mcp' }, [], '--url must be an http or https URL', true],
  ])('with %j and %j running fails: %s', (flags, names, message, isUsage) => {
    expect(choose(flags, ...names)).toEqual({ message: expect.stringContaining(message) as unknown, isUsage });
  });
});
