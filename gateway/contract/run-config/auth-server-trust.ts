import { block, blocks, duration, flag, text, texts } from '../optional.ts';

const jwtBearerGrant = block('Accept assertions of this issuer as grants (RFC 7523).', {
  max_assertion_age: duration('Maximum age of an accepted assertion, from its `iat`.'),
  subject_bindings: blocks('Subjects that may use the grant.', {
    subject: text('`sub` of the assertion.'),
    allowed_resources: texts('Resources that the subject may request. Defaults to `allowed_audiences`.'),
  }),
  accepted_audiences: texts('Values of `aud`. Defaults to the issuer and the token endpoint of this server.'),
});

/** Clients that obtain tokens for users without a login, and other issuers whose tokens they present. */
export const trust = {
  delegate_clients: blocks('Confidential clients that may exchange tokens (RFC 8693).', {
    client_id: text('Client identifier.'),
    client_secret_file: text('Path of the file that holds the client secret, at least 32 characters.'),
    audiences: texts('Audiences that the client may request, each one of `allowed_audiences`.'),
    scopes: texts('Scopes that the client may request, each one of `scopes_supported`.'),
  }),
  trusted_issuers: blocks('Other issuers whose tokens are accepted.', {
    issuer_url: text('Issuer of the tokens.'),
    jwks_url: text('URL of the JSON Web Key Set. Discovered by default.'),
    expected_audience: text('`aud` of tokens that may be exchanged.'),
    allowed_delegate_clients: texts('Delegate clients that may exchange the tokens; `*` alone means all.'),
    allowed_actors: texts('Actors that may act for the subjects.'),
    actor_claim: text('Claim of the subject token that names the actor.'),
    actor_matcher: text('Regular expression that the whole name of the actor must match.'),
    allow_may_act: flag('Require that a `may_act` claim of the subject token names the actor.'),
    allow_private_ips: flag('Allow the key set URL to resolve to a private address.'),
    insecure_allow_http: flag('Allow http URLs for the issuer.'),
    jwt_bearer_grant: jwtBearerGrant,
  }),
};
