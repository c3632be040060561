import { Type, type Static } from 'typebox';

/** Registration of vmcp as a client. A secret. @see RFC 7591 §3.2.1 */
export const ClientRecord = Type.Object({
  issuer: Type.String(),
  client_id: Type.String(),
  redirect_uri: Type.String(),
  auth_method: Type.String(),
  client_secret: Type.Optional(Type.String()),
  /** ms since the epoch. */
  secret_expires_at: Type.Optional(Type.Number()),
  /** URL and token for updates of the registration. @see RFC 7592 §3 */
  registration_uri: Type.Optional(Type.String()),
  registration_token: Type.Optional(Type.String()),
});
export type ClientRecord = Static<typeof ClientRecord>;
