import { expect, it } from 'vitest';
import type { Authenticator } from '../../outgoing/authenticator.ts';
import { CredentialFailures } from '../../outgoing/credential-failures.ts';
import { createLog } from '../../telemetry/log.ts';
import { Credentials } from './credentials.ts';

const failed = (status: number) => ({ kind: 'unauthenticated', detail: '', status }) as const;

it.each([
  { rejectedBy403: undefined, refusals: [401] },
  { rejectedBy403: true, refusals: [401, 403] },
])('retries after $refusals when rejectedBy403 is $rejectedBy403, and asks for a login after 401 only', (given) => {
  const { rejectedBy403, refusals } = given;
  const authenticator: Authenticator = {
    perUser: true,
    ...(rejectedBy403 !== undefined && { rejectedBy403 }),
    headers: () => ({}),
    refused: () => true,
  };
  const credentials = new Credentials(
    authenticator,
    new CredentialFailures({ backend: 'b', log: createLog(process.stderr, 'error'), now: Date.now }),
  );
  expect([400, 401, 403].filter((status) => credentials.isRefusal(failed(status)))).toEqual(refusals);
  expect(credentials.asReported(failed(401)).kind).toBe('reauthenticate');
  expect(credentials.asReported(failed(403))).toEqual(failed(403));
});
