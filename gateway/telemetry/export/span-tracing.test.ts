import { AlwaysOnSampler, TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { SpanTracing } from './span-tracing.ts';

const ID = `${'a'.repeat(32)}-${'1'.repeat(16)}`;
const SAMPLED = `00-${ID}-01`;
const UNSAMPLED = `00-${ID}-00`;
const INVALID = `ff-${ID}-01`;

function tracing({ samplingRate = 0.05, random = 0.5, withLegacyNames = false } = {}) {
  const spans: ReadableSpan[] = [];
  const nothing = (): Promise<void> => Promise.resolve();
  const collecting = { onStart: () => undefined, onEnd: (span: ReadableSpan) => void spans.push(span) };
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    spanProcessors: [{ ...collecting, forceFlush: nothing, shutdown: nothing }],
  });
  const tracer = provider.getTracer('vmcp');
  return {
    spans,
    traces: new SpanTracing({ tracer, samplingRate, random: () => random, attributes: {}, withLegacyNames }),
  };
}

const REQUEST = {
  method: 'resources/read',
  id: '7',
  revision: '2025-11-25',
  sessionId: 's',
  meta: undefined,
  header: undefined,
};

describe('the sampling', () => {
  it.each([
    ['a sampled parent in _meta', SAMPLED, UNSAMPLED, 0.9, true],
    ['an unsampled parent in _meta', UNSAMPLED, SAMPLED, 0.9, false],
    ['an unsampled parent in _meta', UNSAMPLED, undefined, 0, false],
    ['a sampled parent in the header', undefined, SAMPLED, 0.9, true],
    ['an invalid parent in _meta beside a sampled one', INVALID, SAMPLED, 0.9, true],
    ['an invalid parent', INVALID, undefined, 0.9, false],
    ['no parent, by the rate', undefined, undefined, 0.049, true],
    ['no parent, by the rate', undefined, undefined, 0.05, false],
  ] as const)('follows %s', (_, inMeta, inHeader, random, expected) => {
    expect(tracing({ random }).traces.isSampled(inMeta, inHeader)).toBe(expected);
  });

  it.each([
    [0, 0, false],
    [1, 0.999, true],
  ])('with the rate %d and %d is %s', (samplingRate, random, expected) => {
    expect(tracing({ samplingRate, random }).traces.isSampled(undefined, undefined)).toBe(expected);
  });
});

describe('a span', () => {
  it('has a URI as an attribute, without user, query and fragment, and not in its name', () => {
    const { spans, traces } = tracing();
    const trace = traces.begin(REQUEST);
    trace.routed('https://user:canary@files.example.com/a/b?token=canary#canary');
    trace.answered(undefined);
    expect(spans[0]).toMatchObject({
      name: 'resources/read',
      attributes: { 'mcp.resource.uri': 'https://files.example.com/a/b' },
    });
  });

  it.each([
    ['2025-11-25', 's'],
    ['2024-11-05', 's'],
    ['2026-07-28', undefined],
  ])('of revision %s has the session %s', (revision, expected) => {
    const { spans, traces } = tracing();
    traces.begin({ ...REQUEST, revision }).answered(undefined);
    expect(spans[0]?.attributes['mcp.session.id']).toBe(expected);
  });

  it('has deprecated names beside the current ones where the configuration says so', () => {
    const { spans, traces } = tracing({ withLegacyNames: true });
    const trace = traces.begin({ ...REQUEST, method: 'prompts/get', id: '"a"' });
    trace.routed('greet');
    trace.answered('-32602', 'wrong');
    expect(spans[0]).toMatchObject({
      name: 'prompts/get greet',
      status: { code: 2, message: 'wrong' },
      attributes: {
        'gen_ai.prompt.name': 'greet',
        'mcp.prompt.name': 'greet',
        'jsonrpc.request.id': 'a',
        'mcp.request.id': 'a',
        'rpc.response.status_code': '-32602',
        'rpc.jsonrpc.error_code': '-32602',
      },
    });
  });
});
