import type { RedisServer } from './redis.ts';

const READ: Readonly<Record<string, (key: string) => string[]>> = {
  string: (key) => ['GET', key],
  hash: (key) => ['HGETALL', key],
  set: (key) => ['SMEMBERS', key],
  zset: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
};

/** Returns every key of a server with its value. */
export async function dumpOf({ cli }: RedisServer): Promise<ReadonlyMap<string, string>> {
  const keys = (await cli('KEYS', '*')).split('\n').filter((key) => key !== '');
  const rows = keys.map(async (key): Promise<[string, string]> => {
    const type = await cli('TYPE', key);
    const read = READ[type];
    if (read === undefined && type !== 'none') throw new Error(`no reader for the type ${type} of ${key}`);
    return [key, read === undefined ? '' : await cli(...read(key))];
  });
  return new Map(await Promise.all(rows));
}
