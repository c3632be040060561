/** Audited and counted events. Their facts contain no token, code, state, cookie or tsid. */
export type AuthServerEvent =
  | 'client_registered'
  | 'client_deleted'
  | 'consent_granted'
  | 'consent_denied'
  | 'login_leg_ok'
  | 'login_leg_failed'
  | 'login_foreign_browser' // a callback or consent form came from another browser than the authorization request
  | 'other_upstream_subject' // a later provider returned another subject than at the user's previous login
  | 'code_issued'
  | 'code_replay'
  | 'token_issued'
  | 'token_refreshed'
  | 'token_exchanged'
  | 'assertion_redeemed'
  | 'refresh_reuse'
  | 'revoked'
  | 'request_refused'
  | 'rate_limited'
  | 'upstream_refreshed'
  | 'upstream_refresh_failed'
  | 'upstream_token_dead';

export type EmitEvent = (event: AuthServerEvent, facts?: Readonly<Record<string, unknown>>) => void;
