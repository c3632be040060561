import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { NoKeyring } from './keyring.ts';
import { osKeyring } from './os-keyring.ts';

it('reads nothing from the keyring of this machine, or reports that there is none', async () => {
  const outcome = await osKeyring(`/of-a-test/${randomUUID()}`)
    .read()
    .catch((error: unknown) => error);
  if (outcome !== undefined) {
    expect(outcome).toBeInstanceOf(NoKeyring);
    expect((outcome as NoKeyring).message).toContain('VMCP_SECRETS_PASSWORD');
  }
});
