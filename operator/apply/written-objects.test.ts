import { describe, expect, it } from 'vitest';
import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';
import { WrittenObjects } from './written-objects.ts';

const TYPE = RESOURCES.Service;
const at = (resourceVersion: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'team', name: 's', resourceVersion, ...more },
});

describe('WrittenObjects', () => {
  function setUp() {
    let now = 0;
    const written = new WrittenObjects(() => now);
    const wrote = (object: KubeObject) => written.write(TYPE, object, () => Promise.resolve(object));
    return {
      written,
      wrote,
      latest: (seen?: KubeObject) => written.latest(TYPE, 'team', 's', seen),
      pass: (ms: number) => (now += ms),
    };
  }

  it('returns the written object until the watch reports one as new', async () => {
    const { wrote, latest } = setUp();
    expect(latest(at('5'))?.metadata.resourceVersion).toBe('5');
    await wrote(at('10', { managedFields: [{}] }));
    expect(latest(at('9'))?.metadata).toEqual({ namespace: 'team', name: 's', resourceVersion: '10' });
    expect(latest(undefined)?.metadata.resourceVersion).toBe('10');
    const seen = at('10');
    expect(latest(seen)).toBe(seen);
    expect(latest(undefined)).toBeUndefined();
  });

  it('recognises the echo of a write once', async () => {
    const { written, wrote } = setUp();
    await wrote(at('10'));
    expect(written.isEcho(TYPE, at('8'), at('9'))).toBe(false);
    expect(written.isEcho(TYPE, at('9'), at('10'))).toBe(true);
    expect(written.isEcho(TYPE, at('9'), at('10'))).toBe(false);
  });

  it('reports a later version as a change', async () => {
    const { written, wrote, latest } = setUp();
    await wrote(at('10'));
    expect(written.isEcho(TYPE, at('9'), at('11'))).toBe(false);
    expect(latest(undefined)).toBeUndefined();
  });

  it('accepts a deletion from the watch', async () => {
    const { written, wrote, latest } = setUp();
    await wrote(at('10'));
    expect(written.isEcho(TYPE, at('10'), undefined)).toBe(false);
    expect(latest(undefined)).toBeUndefined();
  });

  it('holds back events during a write and reports those that are not its echo', async () => {
    const news: (string | undefined)[] = [];
    const written = new WrittenObjects(
      () => 0,
      (_type, previous, current) =>
        news.push(`${previous?.metadata.resourceVersion} ${current?.metadata.resourceVersion}`),
    );
    const during = (reply: KubeObject, ...versions: (string | undefined)[]) =>
      written.write(TYPE, at(''), async () => {
        let previous = at('1');
        for (const version of versions) {
          const current = version === undefined ? undefined : at(version);
          expect(written.isEcho(TYPE, previous, current)).toBe(true);
          previous = current ?? previous;
        }
        return reply;
      });
    await during(at('8'), '8');
    await during(at('10'));
    await during(at('12'), '10', '12'); // the echo of the write before may come late
    expect(news).toEqual([]);
    await during(at('21'), '20', '21'); // another client edited the object just before
    expect(news).toEqual(['1 21']);
    await during(at('25'), '25', '26');
    expect(news[1]).toBe('1 26');
    await during(at('30'), undefined);
    expect(news[2]).toBe('1 undefined');
    await expect(
      written.write(TYPE, at(''), () => {
        written.isEcho(TYPE, at('12'), at('13'));
        return Promise.reject(new Error('refused'));
      }),
    ).rejects.toThrow('refused');
    expect(news[3]).toBe('12 13');
    await expect(
      written.write(TYPE, at(''), () => {
        written.isEcho(TYPE, at('13'), undefined);
        return Promise.reject(new Error('not found'));
      }),
    ).rejects.toThrow('not found');
    expect(news[4]).toBe('13 undefined');
  });

  it('forgets a write that the watch has already reported', async () => {
    const { written, latest } = setUp();
    await written.write(TYPE, at(''), () => {
      written.isEcho(TYPE, at('9'), at('10'));
      return Promise.resolve(at('10'));
    });
    expect(latest(undefined)).toBeUndefined();
  });

  it('forgets an object that was deleted during its write', async () => {
    const { written, latest } = setUp();
    await written.write(TYPE, at(''), () => {
      written.isEcho(TYPE, at('10'), undefined);
      return Promise.resolve(at('10'));
    });
    expect(latest(undefined)).toBeUndefined();
  });

  it('forgets a write after a minute, because a list can miss a created and deleted object', async () => {
    const { wrote, latest, pass } = setUp();
    await wrote(at('10'));
    pass(60_001);
    expect(latest(undefined)).toBeUndefined();
  });

  it('keeps a write when a later write fails before the watch reports the first', async () => {
    const { written, wrote, latest } = setUp();
    await wrote(at('10'));
    const failing = written.write(TYPE, at(''), () => {
      written.isEcho(TYPE, at('8'), at('9'));
      return Promise.reject(new Error('refused'));
    });
    await expect(failing).rejects.toThrow('refused');
    expect(latest(at('9'))?.metadata.resourceVersion).toBe('10');
  });

  it('lists objects of an owner that the watch has not reported yet', async () => {
    const { written, wrote } = setUp();
    const ownerReferences = [{ apiVersion: 'v', kind: 'K', name: 'n', uid: 'u', controller: true }];
    await wrote(at('10', { ownerReferences }));
    expect(written.controlledBy('team', 'u')).toHaveLength(1);
    expect(written.controlledBy('other', 'u')).toEqual([]);
    expect(written.controlledBy('team', 'other')).toEqual([]);
    written.isEcho(TYPE, undefined, at('10'));
    expect(written.controlledBy('team', 'u')).toEqual([]);
  });
});

describe('WrittenObjects and lists', () => {
  function setUp() {
    const news: (string | undefined)[] = [];
    const written = new WrittenObjects(
      () => 0,
      (_type, _previous, current) => news.push(current?.metadata.resourceVersion),
    );
    return { written, news, wrote: (object: KubeObject) => written.write(TYPE, object, () => Promise.resolve(object)) };
  }

  it('reports writes before a list as changes, because the list may include an edit by another client', async () => {
    const { written, news, wrote } = setUp();
    await wrote(at('10'));
    written.listed(TYPE, undefined, '12');
    expect(news).toEqual(['10']);
    expect(written.isEcho(TYPE, at('5'), at('10'))).toBe(false);
  });

  it('forgets an object that was created and deleted before a list', async () => {
    const { written, wrote } = setUp();
    await wrote(at('10'));
    written.listed(TYPE, undefined, '12');
    expect(written.latest(TYPE, 'team', 's', undefined)).toBeUndefined();
  });

  it('keeps waiting for writes after a list, in another namespace or of another kind', async () => {
    const { written, news, wrote } = setUp();
    await wrote(at('10'));
    written.listed(TYPE, undefined, '9');
    written.listed(TYPE, 'other', '12');
    written.listed(RESOURCES.ConfigMap, undefined, '12');
    expect(news).toEqual([]);
    expect(written.isEcho(TYPE, at('5'), at('10'))).toBe(true);
  });

  it.each([
    ['includes the result', at('10')],
    ['no longer includes the result', undefined],
  ])('reports a write as a change when a list during it %s', async (_what, listed) => {
    const { written, news } = setUp();
    await written.write(TYPE, at(''), () => {
      written.listed(TYPE, 'team', '12');
      if (listed) written.isEcho(TYPE, at('5'), listed);
      return Promise.resolve(at('10'));
    });
    expect(news).toEqual(['10']);
    expect(written.latest(TYPE, 'team', 's', listed)).toBe(listed);
  });

  it('reports no change for a write without effect', async () => {
    const { written, news, wrote } = setUp();
    written.listed(TYPE, undefined, '12');
    await wrote(at('10'));
    expect(news).toEqual([]);
  });
});
