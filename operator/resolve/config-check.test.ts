import { describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { backendOf, configFaults, reportFaults, sortKeys } from './config-check.ts';
import { type ObjectProblem, reportInto } from './scope.ts';

describe('configFaults', () => {
  it('reports each path at which the gateway rejects the configuration', () => {
    const problems: ObjectProblem[] = [];
    const wrong = { schema_version: 'v0.1.0', name: 1, unknown: true } as unknown as GatewayConfig;
    reportFaults(
      configFaults(wrong),
      reportInto({ kind: 'VirtualMCPServer', namespace: 'n', name: 'x' }, problems, []),
    );
    expect(problems.map(({ reason }) => reason)).toEqual(problems.map(() => 'RenderedConfigInvalid'));
    const texts = problems.map(({ message }) => message).join('\n');
    for (const member of ['name', 'unknown', 'vmcp']) expect(texts).toContain(member);
  });
});

describe('backendOf', () => {
  const config = { vmcp: { backends: [{ name: 'a-1' }, { name: 'b' }] } } as unknown as GatewayConfig;

  it.each([
    ['vmcp.backends[1].url', 'b'],
    ['vmcp.backends[2].url', undefined],
    ['vmcp.outgoing_auth.a-1.token_url', 'a-1'],
    ['vmcp.outgoing_auth["a-1"].token_url', 'a-1'],
    ['vmcp.aggregation.tools[0]', undefined],
    ['name', undefined],
  ])('%s is about %s', (path, backend) => {
    expect(backendOf({ reason: 'X', path, message: '' }, config)).toBe(backend);
  });
});

describe('sortKeys', () => {
  it('sorts members at every depth and keeps the order of lists', () => {
    expect(JSON.stringify(sortKeys({ b: [{ d: 1, c: 2 }, 0], a: null, B: 'x' }))).toBe(
      '{"B":"x","a":null,"b":[{"c":2,"d":1},0]}',
    );
  });
});
