import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { Logger } from '../../contract/logger.ts';
import { createLog } from '../../telemetry/log.ts';
import { catalog, rules } from '../aggregation/testdata/catalogs.ts';
import { whenFound } from './readable-view.ts';
import { LiveView } from './live-view.ts';

/** Creates a view of two backends of which only the last in the alphabet has answered. */
function halfRead(prefix_format: string, backends: readonly [string, string]) {
  const answered = Promise.withResolvers<undefined>();
  const known = [catalog(backends[1], { tools: [{ name: 'c' }, { name: 'only' }] })];
  let settled = false;
  const source = {
    catalogs: () => known,
    unavailable: () => [],
    get settled() {
      return settled;
    },
    whenSettled: () => answered.promise,
  };
  const config = {
    vmcp: {
      backends: backends.map((name) => ({ name })),
      aggregation: rules({ conflict_resolution: 'prefix', prefix_format }),
      operational: { timeouts: { default: '30s' } },
    },
  } as unknown as GatewayConfig;
  const view = new LiveView(config, { source, log: createLog(new PassThrough(), 'error'), onChange: () => undefined });
  view.load();
  const answer = (): void => {
    settled = true;
    known.push(catalog(backends[0], { tools: [{ name: 'c' }, { name: 'b-c' }] }));
    view.load();
    answered.resolve(undefined);
  };
  return { view, answer };
}

it.each([
  ['custom_', ['alpha', 'beta'], 'custom_c'],
  ['{workload}-', ['a', 'a-b'], 'a-b-c'],
] as const)(
  'with the prefix %s a call waits for the backend that may claim the name',
  async (format, backends, name) => {
    const { view, answer } = halfRead(format, backends);
    expect(view.certain).toBe(false);
    const found = whenFound(view, ({ tools }) => tools.get(name));
    answer();
    expect((await found)?.backend).toBe(backends[0]);
  },
);

it('does not wait for other backends when the prefixes are distinct', () => {
  const { view } = halfRead('{workload}_', ['a', 'a-b']);
  expect(view.certain).toBe(true);
  expect(view.current.tools.get('a-b_c')?.backend).toBe('a-b');
});

it('logs each problem once while backends come one after the other', () => {
  const known = ['a', 'b'].map((name) => catalog(name, { tools: [{ name: 'c' }] }));
  const config = {
    vmcp: {
      backends: ['a', 'b', 'd', 'e'].map((name) => ({ name })),
      aggregation: rules({ conflict_resolution: 'none' }),
      operational: { timeouts: { default: '30s' } },
    },
  } as unknown as GatewayConfig;
  const logged: string[] = [];
  const log = {
    info: () => undefined,
    warn: (_: string, { problem }: { problem: string }) => void logged.push(problem),
  };
  const source = {
    catalogs: () => known,
    unavailable: () => [],
    settled: true,
    whenSettled: () => Promise.resolve(undefined),
  };
  const view = new LiveView(config, { source, log: log as unknown as Logger, onChange: () => undefined });
  view.load();
  expect(logged).toEqual([expect.stringContaining('"c"')]);
  known.push(...['d', 'e'].map((name) => catalog(name, { tools: [{ name: 'x' }] })));
  view.load();
  expect(logged).toEqual([expect.stringContaining('"c"'), expect.stringContaining('"x"')]);
});
