import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../e2e/harness/poll.ts';
import { KubeClient, type KubeClientOptions } from './client.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import { RESOURCES, type KubeObject } from './resource.ts';
import { refuse, WatchServer, type OpenWatch } from './testdata/watch-server.ts';

interface Following {
  readonly server: WatchServer;
  readonly reflector: Reflector<KubeObject>;
  /** `+a`, `~a` or `-a` for each change, in order. */
  readonly changes: string[];
  readonly log: string[];
}

const names = (reflector: Reflector<KubeObject>) =>
  Array.from(reflector.values(), ({ metadata }) => metadata.name).sort();

async function follow(
  prepare: (server: WatchServer) => void = () => undefined,
  options: Partial<ReflectorOptions<KubeObject>> & KubeClientOptions = {},
): Promise<Following> {
  const server = new WatchServer();
  const client = new KubeClient(await server.listen(), options);
  const changes: string[] = [];
  const log: string[] = [];
  const line = (level: string) => (message: string, fields: object) =>
    log.push(JSON.stringify({ level, message, ...fields }));
  prepare(server);
  const reflector = new Reflector({
    client,
    type: RESOURCES.ConfigMap,
    namespace: 'default',
    onChange: (previous, current) => {
      const sign = previous && current ? '~' : current ? '+' : '-';
      changes.push(`${sign}${(current ?? previous)?.metadata.name ?? ''}`);
    },
    log: { debug: () => undefined, info: line('info'), warn: line('warn'), error: line('error') },
    now: () => performance.now(),
    random: () => 0,
    ...options,
  });
  onTestFinished(async () => {
    await reflector.close();
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  reflector.start();
  return { server, reflector, changes, log };
}

/** The watch that is open now. */
const open = (server: WatchServer): Promise<OpenWatch> => eventually('a watch', () => server.watches[0]);

describe('Reflector', () => {
  it('lists objects, then follows their changes', async () => {
    const { server, reflector, changes } = await follow((it) => it.put('a', { x: '1' }));
    await reflector.synced;
    expect(changes).toEqual(['+a']);
    expect((await open(server)).query.get('resourceVersion')).toBe('101');
    server.put('b');
    server.put('a', { x: '2' });
    server.remove('b');
    await eventually('all changes', () => changes.length === 4);
    expect(changes).toEqual(['+a', '+b', '~a', '-b']);
    expect(reflector.get('default', 'a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { x: '2' } });
    expect(reflector.get('default', 'b')).toBeUndefined();
    expect([...reflector.inNamespace('other')]).toEqual([]);
  });

  it.each([404, 403])(
    'serves as empty an optional kind whose list gets %s, and follows it once it is served',
    async (status) => {
      const told: boolean[] = [];
      const { server, reflector, changes, log } = await follow(
        (it) => {
          it.nextLists.push(refuse(status, ''), refuse(status, ''));
          it.put('a');
        },
        { type: { ...RESOURCES.ConfigMap, optional: true }, onServed: () => told.push(reflector.isServed) },
      );
      await reflector.synced;
      expect(reflector.isServed).toBe(false);
      expect(changes).toEqual([]);
      await eventually('the list', () => reflector.isServed);
      expect([changes, told]).toEqual([['+a'], [false, true]]);
      expect(log.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['info']);
      await open(server);
      server.remove('a');
      await eventually('the change', () => changes.length === 2);
    },
  );

  it('forgets the objects of an optional kind that is removed', async () => {
    const { server, reflector, changes } = await follow((it) => it.put('a'), {
      type: { ...RESOURCES.ConfigMap, optional: true },
    });
    await reflector.synced;
    const watch = await open(server);
    server.nextLists.push(refuse(404, ''));
    watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    await eventually('the change', () => changes.includes('-a'));
    expect(reflector.isServed).toBe(false);
  });

  it('reports the version of a list before the changes in it', async () => {
    const told: string[] = [];
    const { server, reflector, changes } = await follow((it) => it.put('a'), {
      onListed: (version) => told.push(`${version} after ${String(changes.length)}`),
    });
    await reflector.synced;
    const watch = await open(server);
    server.put('a', { x: '2' }, { quiet: true });
    watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    await eventually('the list', () => changes.length === 2);
    expect(told).toEqual(['101 after 0', '102 after 1']);
  });

  it('stores objects without managedFields and as the transform returns them', async () => {
    const transform = ({ data: _, ...rest }: KubeObject) => rest;
    const { reflector } = await follow((it) => it.put('a', { x: '1' }), { transform });
    await reflector.synced;
    const kept = reflector.get('default', 'a');
    expect(kept?.metadata).not.toHaveProperty('managedFields');
    expect(kept).not.toHaveProperty('data');
  });

  it('reads a list page by page', async () => {
    const { server, reflector } = await follow((it) => {
      it.pageSize = 2;
      for (const name of ['a', 'b', 'c', 'd', 'e']) it.put(name);
    });
    await reflector.synced;
    expect(names(reflector)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(server.lists().map(({ query }) => [query.get('limit'), query.get('continue')])).toEqual([
      ['100', null],
      ['100', '2'],
      ['100', '4'],
    ]);
  });

  it('lists without pages after a continue token has expired', async () => {
    const { server, reflector } = await follow((it) => {
      it.pageSize = 2;
      for (const name of ['a', 'b', 'c']) it.put(name);
      it.nextLists.push(
        (_request, response) => {
          const metadata = { resourceVersion: '1', continue: 'old' };
          response.end(JSON.stringify({ metadata, items: [] }));
        },
        refuse(410, 'Expired'),
      );
    });
    await reflector.synced;
    expect(names(reflector)).toEqual(['a', 'b', 'c']);
    expect(server.lists().at(-1)?.query.has('limit')).toBe(false);
  });

  it('requests a random timeout and bookmarks for each watch', async () => {
    const { server } = await follow(undefined, { random: () => 0.5 });
    expect((await open(server)).query.get('timeoutSeconds')).toBe('450');
    expect(server.watches[0]?.query.get('allowWatchBookmarks')).toBe('true');
  });

  it.each<[how: string, stop: (watch: OpenWatch) => void]>([
    [
      'ends',
      (watch) => {
        watch.end();
      },
    ],
    [
      'is reset',
      (watch) => {
        watch.reset();
      },
    ],
    [
      'sends garbage',
      (watch) => {
        watch.raw('no json\n');
      },
    ],
    [
      'sends an unknown event',
      (watch) => {
        watch.raw('{"type":"NEWS","object":{}}\n');
      },
    ],
    [
      'breaks off within a line',
      (watch) => {
        watch.raw('{"type":"ADDED","object":{"meta');
        watch.end();
      },
    ],
    [
      'sends an error',
      (watch) => {
        watch.send('ERROR', { kind: 'Status', code: 500, reason: 'InternalError' });
      },
    ],
  ])('resumes from the last version when a watch %s', async (_how, stop) => {
    const { server, reflector, changes } = await follow();
    await reflector.synced;
    const first = await open(server);
    const { metadata } = server.put('a');
    await eventually('the change', () => changes.length === 1);
    stop(first);
    const second = await eventually('another watch', () => server.watches.find((each) => each !== first));
    expect(second.query.get('resourceVersion')).toBe(metadata.resourceVersion);
    server.put('b');
    await eventually('the next change', () => changes.length === 2);
    expect(changes).toEqual(['+a', '+b']);
    expect(server.lists()).toHaveLength(1);
  });

  it('resumes from the version of a bookmark', async () => {
    const { server, changes } = await follow();
    const first = await open(server);
    server.bookmark();
    await sleep(50);
    first.reset();
    const second = await eventually('another watch', () => server.watches.find((each) => each !== first));
    expect(second.query.get('resourceVersion')).toBe(server.version);
    expect(changes).toEqual([]);
  });

  it.each<[how: string, expire: (server: WatchServer, watch: OpenWatch) => void]>([
    [
      'an event',
      (_server, watch) => {
        watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired' });
      },
    ],
    [
      'a status',
      (server, watch) => {
        server.nextWatches.push(refuse(410, 'Gone'));
        watch.end();
      },
    ],
  ])('lists again and reports the changes when %s reports that the version is too old', async (_how, expire) => {
    const { server, reflector, changes } = await follow((it) => {
      for (const name of ['same', 'changed', 'gone']) it.put(name);
    });
    await reflector.synced;
    const first = await open(server);
    changes.length = 0;
    server.put('changed', { x: '2' }, { quiet: true });
    server.remove('gone', { quiet: true });
    server.put('new', {}, { quiet: true });
    expire(server, first);
    await eventually('the difference', () => changes.length === 3);
    expect(changes.toSorted()).toEqual(['+new', '-gone', '~changed']);
    expect(names(reflector)).toEqual(['changed', 'new', 'same']);
  });

  it('replaces a watch that sends nothing', async () => {
    const { server, changes } = await follow(undefined, { watchIdleMs: 300 });
    const first = await open(server);
    const second = await eventually('another watch', () => server.watches.find((each) => each !== first));
    second.send('ADDED', server.put('a', {}, { quiet: true }));
    await eventually('the change', () => changes.length === 1);
    expect(server.lists()).toHaveLength(1);
  });

  it('waits for the time in Retry-After when the server is busy', async () => {
    const started = performance.now();
    const { server, reflector } = await follow((it) => {
      it.nextWatches.push(refuse(429, 'TooManyRequests', { 'retry-after': '1' }));
      it.nextLists.push(refuse(429, 'TooManyRequests', { 'retry-after': '1' }));
    });
    await reflector.synced;
    expect(performance.now() - started).toBeGreaterThan(990);
    await open(server);
    expect(performance.now() - started).toBeGreaterThan(1_980);
    expect(server.lists()).toHaveLength(2);
  });

  it('lists again when watches fail repeatedly', async () => {
    const { server, reflector } = await follow((it) => {
      for (let i = 0; i < 4; i += 1) it.nextWatches.push(refuse(504, 'Timeout'));
    });
    await reflector.synced;
    await open(server);
    expect(server.lists()).toHaveLength(2);
  });

  it('limits its requests when the server ends every watch at once', async () => {
    const { server } = await follow((it) => {
      for (let i = 0; i < 50; i += 1) it.nextWatches.push((_request, response) => response.end());
    });
    await sleep(1_500);
    expect(server.requests.length).toBeGreaterThan(2);
    expect(server.requests.length).toBeLessThan(8);
  });

  it('logs a refusal once and its end once', async () => {
    const { reflector, log, server } = await follow((it) => {
      it.nextLists.push(refuse(403, 'Forbidden'), refuse(403, 'Forbidden'), refuse(403, 'Forbidden'));
    });
    await reflector.synced;
    await open(server);
    await eventually('the end of the trouble', () => log.length === 2);
    expect(log[0]).toMatch(/"level":"warn".*cannot be watched.*"reason":"Forbidden"/u);
    expect(log[1]).toContain('watched again');
  });

  it('continues and logs the error when onChange throws', async () => {
    const { server, reflector, log } = await follow(undefined, {
      onChange: () => {
        throw new Error('not today');
      },
    });
    await open(server);
    server.put('a');
    server.put('b');
    await eventually('both', () => names(reflector).length === 2);
    expect(log.join('')).toContain('not today');
  });

  it('stops on close, both while it waits for a retry and while it watches', async () => {
    const waiting = await follow((it) => it.nextLists.push(refuse(403, 'Forbidden')));
    await eventually('the refusal', () => waiting.log.length === 1);
    await waiting.reflector.close();
    const watching = await follow();
    await open(watching.server);
    await watching.reflector.close();
    await eventually('no watch', () => watching.server.watches.length === 0);
    const { length } = watching.server.requests;
    await sleep(300);
    expect(watching.server.requests).toHaveLength(length);
  });
});
