import { describe, expect, it } from 'vitest';
import { GATEWAY_CLIENT } from '../../../examples/identity-provider/provider.ts';
import { startIdentityProvider } from '../../../e2e/harness/identity-provider.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { filesIn, validatorFor, verdictOn } from '../testdata/validator-under-test.ts';

const RESOURCE = 'http://127.0.0.1:4483/mcp';

describe('oidc-provider as the issuer', () => {
  it('signs JWTs that are accepted, even after it was killed', async () => {
    const provider = await startIdentityProvider(testScope());
    const { validator } = validatorFor(testScope(), provider.issuer, { oidc: { audience: RESOURCE } });
    const [ann, bob, other] = [
      await provider.token('ann'),
      await provider.token('bob'),
      await provider.token('ann', 'http://127.0.0.1:1/other'),
    ];
    const identity = await validator.validate(ann);
    expect(identity).toMatchObject({ subject: 'ann', issuer: provider.issuer, clientId: GATEWAY_CLIENT.id });
    expect(await verdictOn(validator, other)).toBe('audience');
    await provider.kill();
    expect(validator.validate(ann)).toBe(identity);
    expect(await verdictOn(validator, bob)).toBe('sub: bob'); // its keys are still known
    const late = validatorFor(testScope(), provider.issuer, { oidc: { audience: RESOURCE } });
    expect(await verdictOn(late.validator, ann)).toBe('down: discovery');
  });

  it('introspects opaque tokens', async () => {
    const provider = await startIdentityProvider(testScope(), { opaque: true });
    const { secret: clientSecretFile } = await filesIn(testScope(), { secret: GATEWAY_CLIENT.secret });
    const { validator } = validatorFor(testScope(), provider.issuer, {
      oidc: { audience: RESOURCE, clientID: GATEWAY_CLIENT.id, clientSecretFile },
    });
    const token = await provider.token('ann');
    expect(token.split('.')).toHaveLength(1);
    const identity = await validator.validate(token);
    expect(identity).toMatchObject({ subject: 'ann', issuer: provider.issuer, clientId: GATEWAY_CLIENT.id });
    expect(await verdictOn(validator, await provider.token('ann', 'http://127.0.0.1:1/other'))).toBe('audience');
    expect(await verdictOn(validator, `${token}x`)).toBe('inactive');
    await provider.kill();
    expect(validator.validate(token)).toBe(identity);
    expect(await verdictOn(validator, 'another')).toBe('down: introspection');
  });
});
