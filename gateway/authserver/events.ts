/** What is worth an audit line and a count. Facts hold no token, code, state, cookie and no tsid. */
export type AuthServerEvent =
  | 'client_registered'
  | 'client_deleted'
  | 'consent_granted'
  | 'consent_denied'
  | 'login_leg_ok'
  | 'login_leg_failed'
  | 'login_foreign_browser' // a callback or an answer came from another browser than the one that began
  | 'other_upstream_subject' // a later provider says another subject than at the user's last login
  | 'code_issued'
  | 'code_replay'
  | 'token_issued'
  | 'token_refreshed'
  | 'refresh_reuse'
  | 'revoked'
  | 'request_refused'
  | 'rate_limited'
  | 'upstream_refreshed'
  | 'upstream_refresh_failed'
  | 'upstream_token_dead';

export type EmitEvent = (event: AuthServerEvent, facts?: Readonly<Record<string, unknown>>) => void;
