import { expect, it } from 'vitest';
import { FIELD, newFields, readRecord, UnreadableRecord, type SessionRecord } from './session-record.ts';

const record: SessionRecord = {
  principal: '21:https://issuer.exampleada',
  rules: 'digest',
  client: {
    revision: '2025-11-25',
    capabilities: '{"elicitation":{},"sampling":{}}',
    offers: new Set(['elicitation', 'sampling']),
    client: { name: 'Ünïcode', version: '1' },
  },
  startedAt: 1_700_000_000_000,
  isUsed: false,
  seen: { tools: 'a', resources: 'b', prompts: 'c' },
  logLevel: -1,
  holder: undefined,
  turn: 0,
  subscriptions: [],
  backends: new Map(),
};

it('reads what a new session stores', () => {
  expect(readRecord(newFields(record))).toEqual(record);
  const unseen = { ...record, seen: undefined };
  expect(readRecord(newFields(unseen))).toEqual(unseen);
});

it('reads the fields that are added later', () => {
  const backend = { id: 's-1', url: 'http://b/mcp', revision: '2025-06-18', capabilities: { tools: {} } };
  const added = [
    ...[FIELD.used, '1', FIELD.level, '3', FIELD.holder, 'abcdefgh', FIELD.turn, '7'],
    ...[`${FIELD.backend}shop`, JSON.stringify(backend)],
    ...[`${FIELD.subscription}file:///u:b:x`, JSON.stringify(['shop', 'file:///x'])],
  ];
  expect(readRecord([...newFields(record), ...added])).toEqual({
    ...record,
    isUsed: true,
    logLevel: 3,
    holder: 'abcdefgh',
    turn: 7,
    backends: new Map([['shop', backend]]),
    subscriptions: [{ uri: 'file:///u:b:x', backend: 'shop', name: 'file:///x' }],
  });
});

it('knows no session without its facts', () => {
  expect(readRecord([])).toBeUndefined();
  expect(readRecord([FIELD.level, '3'])).toBeUndefined();
});

it.each<[string, readonly string[]]>([
  [FIELD.facts, ['', '{', 'null', '1', '{}', '{"principal":"anonymous"}', '{"principal":1,"client":{}}']],
  [FIELD.seen, ['', '{', 'null', '{"tools":1}']],
  [FIELD.level, ['', 'x', '-5', '8', '1e999']],
  [FIELD.turn, ['', 'x', '-1', '1.5', '1e999', '99999999999999999999']],
  [`${FIELD.backend}shop`, ['', '{', 'null', '{}', '{"id":5,"url":"http://b","revision":"r","capabilities":{}}']],
  [`${FIELD.subscription}file:///x`, ['', '{', 'null', '1', '[]', '[1,2]', '["shop"]']],
])('rejects a field %s that it cannot read', (field, values) => {
  for (const value of values)
    expect(() => readRecord([...newFields(record), field, value]), value).toThrow(UnreadableRecord);
});
