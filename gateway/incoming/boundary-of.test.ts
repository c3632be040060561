import { expect, it } from 'vitest';
import { testScope } from '../../e2e/harness/scope.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { VMCP } from '../contract/testdata/vmcp-config.ts';
import { boundaryOf } from './boundary-of.ts';

const anonymous: GatewayConfig = {
  schema_version: 'v0.1.0',
  vmcp: VMCP,
};

it.each([
  [true, 'warn'],
  [false, 'info'],
])('logs anonymous access; listener exposed: %s, log level: %s', (exposed, level) => {
  const lines: string[] = [];
  const at = (name: string) => (message: string) => void lines.push(`${name} ${message}`);
  const log = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
  const boundary = boundaryOf(anonymous, 'http://127.0.0.1:4483/mcp', { log, now: Date.now, exposed });
  testScope().defer(() => {
    boundary.close();
  });
  expect(lines).toEqual([`${level} anonymous access: every client that reaches the listener can call tools`]);
});
