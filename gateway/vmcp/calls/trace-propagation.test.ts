import { describe, expect, it } from 'vitest';
import { scanEnvelope } from '../../http/json-scan.ts';
import type { TracedRequest, Tracing } from '../../telemetry/tracing.ts';
import { beginTrace, withTraceContext } from './trace-propagation.ts';

const A = `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`;
const B = `00-${'b'.repeat(32)}-${'2'.repeat(16)}-01`;

/** Returns what a request asks of the tracing. */
function asked(meta: unknown, headers: Readonly<Record<string, string>>, isSampled = true) {
  const decisions: unknown[] = [];
  const begun: TracedRequest[] = [];
  const tracing: Tracing = {
    isSampled: (...parents) => {
      decisions.push(parents);
      return isSampled;
    },
    begin: (request) => {
      begun.push(request);
      return {
        routed: () => undefined,
        sending: () => ({ traceparent: A }),
        received: () => undefined,
        answered: () => undefined,
      };
    },
  };
  const message = { jsonrpc: '2.0', id: 'seven', method: 'tools/call', params: { name: 'x', _meta: meta } };
  const body = Buffer.from(JSON.stringify(message));
  const received = { body, envelope: scanEnvelope(body), received: headers };
  beginTrace(tracing, 'tools/call', { id: 's', revision: '2025-11-25' }, received);
  return { decisions, begun };
}

describe('the context of a request', () => {
  it('is that of _meta and that of the headers', () => {
    const meta = { traceparent: A, tracestate: 'a=1', baggage: 'user=alice' };
    const { decisions, begun } = asked(meta, { traceparent: B, tracestate: 'b=2' });
    expect(decisions).toEqual([[A, B]]);
    expect(begun).toEqual([
      {
        method: 'tools/call',
        id: '"seven"',
        revision: '2025-11-25',
        sessionId: 's',
        meta,
        header: { traceparent: B, tracestate: 'b=2', baggage: undefined },
      },
    ]);
  });

  it('is not read when the request is not sampled', () => {
    expect(asked({ traceparent: A }, { traceparent: B }, false)).toEqual({ decisions: [[A, B]], begun: [] });
  });

  it.each([[7], [{ traceparent: 7 }], [undefined], [[]], [{ TRACEPARENT: A }]])('is absent in %j', (meta) => {
    expect(asked(meta, {}).begun[0]?.meta).toBeUndefined();
  });

  it.each([['a\r\nx-other: b'], ['é\u{1F600}'], ['a'.repeat(8_193)]])(
    'has no baggage that no header can hold: %j',
    (baggage) => {
      expect(asked({ traceparent: A, baggage }, {}).begun[0]?.meta?.baggage).toBeUndefined();
    },
  );
});

describe('params with a context', () => {
  const context = { traceparent: A, tracestate: undefined, baggage: undefined };
  const withContext = (text: string, more: object = {}): string =>
    withTraceContext(Buffer.from(text), { ...context, ...more }).toString();

  it.each([
    ['{}', `{"_meta":{"traceparent":"${A}"}}`],
    ['{"name":"x"}', `{"_meta":{"traceparent":"${A}"},"name":"x"}`],
    ['{"_meta":{},"n":1.50}', `{"_meta":{"traceparent":"${A}"},"n":1.50}`],
    [`{"_meta":{"traceparent":"${B}","k":[1e3]}}`, `{"_meta":{"traceparent":"${A}","k":[1e3]}}`],
    ['{"_meta":{"tracestate":"b=2"}}', `{"_meta":{"tracestate":"","traceparent":"${A}"}}`],
    [
      ' {"a":1 , "_meta" : {"progressToken":"p"} } ',
      `{"a":1 , "_meta" : {"traceparent":"${A}","progressToken":"p"} } `,
    ],
  ])('%j keeps every other byte', (before, after) => {
    const changed = withContext(before);
    expect(JSON.parse(changed)).toEqual(JSON.parse(after));
    expect(changed.replace(/"(traceparent|tracestate)":"[^"]*",?/gu, '')).toBe(
      after.replace(/"(traceparent|tracestate)":"[^"]*",?/gu, ''),
    );
  });

  it('have state and baggage of the context', () => {
    expect(
      JSON.parse(withContext('{"_meta":{"baggage":"old=1"}}', { tracestate: 'a=1', baggage: 'user=bob' })),
    ).toEqual({
      _meta: { traceparent: A, tracestate: 'a=1', baggage: 'user=bob' },
    });
  });
});
