import { describe, expect, it } from 'vitest';
import { REFUSAL_REASONS, wireError, type RefusalReason } from './refusal.ts';

describe('the wire error of a rejection', () => {
  it.each(REFUSAL_REASONS)('%s: has a status, a code and a description that RFC 6749 §5.2 allows', (reason) => {
    const { status, error, description } = wireError(reason);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(error).toMatch(/^[a-z_]+$/);
    expect(description).toMatch(/^[\x20\x21\x23-\x5B\x5D-\x7E]{10,}$/);
  });

  it.each<[RefusalReason, number, string]>([
    ['client_unknown', 401, 'invalid_client'],
    ['client_authentication', 401, 'invalid_client'],
    ['code_tag', 400, 'invalid_grant'],
    ['grant_type_unregistered', 400, 'unauthorized_client'],
    ['resource_unknown', 400, 'invalid_target'],
    ['consent_denied', 403, 'access_denied'],
    ['rate_limited', 429, 'temporarily_unavailable'],
    ['capacity', 503, 'temporarily_unavailable'],
    ['store_down', 503, 'temporarily_unavailable'],
    ['internal', 500, 'server_error'],
    ['registration_redirect_uri', 400, 'invalid_redirect_uri'],
    ['registration_token', 401, 'invalid_token'],
  ])('%s is %i %s', (reason, status, error) => {
    expect(wireError(reason)).toMatchObject({ status, error });
  });

  it.each([
    [
      'an unknown client, a wrong secret and a long client id',
      ['client_unknown', 'client_authentication', 'client_id_too_long'],
    ],
    [
      'all reasons for an invalid grant',
      REFUSAL_REASONS.filter((reason) => wireError(reason).error === 'invalid_grant'),
    ],
    ['denials by the user and by the provider', ['consent_denied', 'upstream_denied']],
  ] as [string, RefusalReason[]][])('%s have the same wire error', (_what, reasons) => {
    expect(new Set(reasons.map((reason) => JSON.stringify(wireError(reason)))).size).toBe(1);
    expect(reasons.length).toBeGreaterThan(1);
  });
});
