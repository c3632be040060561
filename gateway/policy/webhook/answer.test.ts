import { describe, expect, it } from 'vitest';
import { readAnswer, type AskedCall, type WebhookAnswer } from './answer.ts';

const CALL: AskedCall = {
  role: 'mutating',
  uid: 'one',
  method: 'tools/call',
  arguments: Buffer.from('{"amount":12345678901234567890,"to":"ann"}'),
};
const read = (answer: unknown, call: Partial<AskedCall> = {}, status = 200): WebhookAnswer =>
  readAnswer({ status, body: typeof answer === 'string' ? answer : JSON.stringify(answer) }, { ...CALL, ...call });
const patching = (...patch: unknown[]): object => ({ allowed: true, patch_type: 'json_patch', patch });
const set = (path: string, value: unknown = 'x'): object => ({ op: 'add', path, value });
const changed = (answer: WebhookAnswer): string | undefined =>
  answer.kind === 'mutated' ? answer.arguments.toString() : undefined;

describe('an answer', () => {
  it('allows or denies', () => {
    expect(read({ allowed: true })).toEqual({ kind: 'allowed' });
    expect(read({ version: 'v0.1.0', uid: 'one', allowed: true, patch: [] })).toMatchObject({ kind: 'invalid' });
    expect(read({ ...patching(), version: 'v0.1.0', uid: 'one' })).toEqual({ kind: 'allowed' });
    expect(read({ allowed: false, message: 'no', reason: 'quota' })).toEqual({ kind: 'denied', text: 'no' });
    expect(read({ allowed: false, reason: 'quota' })).toEqual({ kind: 'denied', text: 'quota' });
    expect(read({ allowed: false })).toEqual({ kind: 'denied', text: undefined });
  });

  it('with status 422 always denies, and quotes nothing', () => {
    expect(read('{"allowed":true}', {}, 422)).toEqual({ kind: 'denied', text: undefined });
  });

  it('shows the user one line of bounded length without control characters', () => {
    const text = `a\u0000b\r\nc\u001b[31m\u202eevil\ud800 ${'é'.repeat(400)}`;
    const denied = read({ allowed: false, message: text });
    if (denied.kind !== 'denied') throw new Error(denied.kind);
    expect(denied.text).toMatch(/^a b c \[31m evil é+…$/u);
    expect(Array.from(denied.text ?? '')).toHaveLength(300);
    expect(read({ allowed: false, message: '\u0007 \u200b' })).toEqual({ kind: 'denied', text: undefined });
  });

  it.each([
    ['no JSON', 'allowed'],
    ['a list', '[]'],
    ['no allowed', '{}'],
    ['allowed as text', { allowed: 'true' }],
    ['another uid', { uid: 'two', allowed: true }],
    ['another version', { version: 'v9', allowed: true }],
    ['an unknown patch type', { allowed: true, patch_type: 'merge_patch', patch: { to: 'eve' } }],
    ['a patch that does not apply', patching({ op: 'remove', path: '/mcp_request/params/arguments/gone' })],
    ['arguments as text', patching(set('/mcp_request/params/arguments', 'x'))],
    ['arguments as a number', '{"allowed":true,"patch_type":"json_patch","patch":[{"op":"add","path":"/mcp_request/params/arguments","value":1.0}]}'], // oxfmt-ignore
  ])('is invalid with %s', (_, answer) => {
    expect(read(answer)).toMatchObject({ kind: 'invalid' });
  });

  it.each([204, 201, 301, 403, 500])('is invalid with status %i', (status) => {
    expect(read({ allowed: true }, {}, status)).toMatchObject({ kind: 'invalid' });
  });
});

describe('a patch', () => {
  it('changes arguments and keeps every number', () => {
    expect(changed(read(patching(set('/mcp_request/params/arguments/to', 'bob'))))).toBe(
      '{"amount":12345678901234567890,"to":"bob"}',
    );
    expect(changed(read(patching(set('/mcp_request/params/arguments', { only: 1 }))))).toBe('{"only":1}');
    expect(changed(read(patching({ op: 'remove', path: '/mcp_request/params/arguments' })))).toBe('{}');
  });

  it('adds arguments to a call without any', () => {
    const answer = read(patching(set('/mcp_request/params/arguments', { a: 1 })), { arguments: undefined });
    expect(changed(answer)).toBe('{"a":1}');
  });

  it.each([
    ['the name', set('/mcp_request/params/name', 'shop_sell')],
    ['the method', set('/mcp_request/method', 'tools/list')],
    ['the id', set('/mcp_request/id', 2)],
    ['_meta', set('/mcp_request/params/_meta', {})],
    ['the params', set('/mcp_request/params', { name: 'x' })],
    ['everything', { op: 'replace', path: '', value: {} }],
    ['the principal', set('/principal/sub', 'root')],
    ['a similar name', set('/mcp_request/params/argumentsX', {})],
    ['what it copies from', { op: 'copy', from: '/mcp_request/params/name', path: '/mcp_request/params/arguments/n' }],
    ['the source of a move', { op: 'move', from: '/mcp_request/params/name', path: '/mcp_request/params/arguments/n' }],
  ])('may not touch %s', (_, operation) => {
    const allowed = set('/mcp_request/params/arguments/a');
    expect(read(patching(allowed, operation))).toMatchObject({ kind: 'forbidden_change' });
  });

  it('of a validating webhook is refused', () => {
    const answer = patching(set('/mcp_request/params/arguments/a'));
    expect(read(answer, { role: 'validating' })).toMatchObject({ kind: 'forbidden_change' });
  });

  it('of a method without arguments is refused', () => {
    const answer = patching(set('/mcp_request/params/arguments/a'));
    expect(read(answer, { method: 'resources/read' })).toMatchObject({ kind: 'forbidden_change' });
  });

  it('keeps the arguments of a prompt text', () => {
    const method = 'prompts/get';
    expect(read(patching(set('/mcp_request/params/arguments/a', 1)), { method, arguments: undefined })).toMatchObject({
      kind: 'invalid',
    });
    const prompt = { method, arguments: Buffer.from('{"tone":"warm"}') };
    expect(changed(read(patching(set('/mcp_request/params/arguments/tone', 'cold')), prompt))).toBe('{"tone":"cold"}');
    expect(read(patching(set('/mcp_request/params/arguments/tone', 1)), prompt)).toMatchObject({ kind: 'invalid' });
  });

  it('with values nested too deeply is invalid', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const answer = `{"allowed":true,"patch_type":"json_patch","patch":[{"op":"add","path":"/mcp_request/params/arguments/a","value":${deep}}]}`;
    expect(read(answer)).toMatchObject({ kind: 'invalid' });
  });
});
