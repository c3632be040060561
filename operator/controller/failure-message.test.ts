import { expect, it } from 'vitest';
import { ApiError } from '../../gateway/kube/client.ts';
import { failureMessage } from './failure-message.ts';

const error = (status: number, message: string) => new ApiError({ status, reason: 'Any', message });

it.each([
  [0, 'check the API server'],
  [403, 'grant it to the operator'],
  [500, 'fix the cause'],
])('says what to do about a %i', (status, advice) => {
  expect(failureMessage(error(status, 'this and that'))).toMatch(new RegExp(`this and that.*${advice}`, 'u'));
});

it('contains no field value, and no text of errors that are not from the API server', () => {
  const text = 'spec.a: Invalid value: "can\\"ary": too long, spec.b: Unsupported value: canary: none';
  expect(failureMessage(error(422, text))).toContain(
    'spec.a: Invalid value: too long, spec.b: Unsupported value: none',
  );
  expect(failureMessage(new Error('canary'))).not.toContain('canary');
});

it('is short', () => {
  expect(failureMessage(error(500, 'x'.repeat(5_000))).length).toBeLessThan(1_200);
});
