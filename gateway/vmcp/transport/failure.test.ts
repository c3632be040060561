import { expect, it } from 'vitest';
import { failureOfError } from './failure.ts';

it.each([
  [
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' }),
    'connect ECONNREFUSED 127.0.0.1:9',
  ],
  [Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }), 'UND_ERR_SOCKET: other side closed'],
  [new TypeError('terminated'), 'TypeError: terminated'],
])('names the code of %s once', (error, detail) => {
  expect(failureOfError(error)).toEqual({ kind: 'unavailable', detail });
});
