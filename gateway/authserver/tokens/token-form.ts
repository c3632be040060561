import { Type, type Static } from 'typebox';

const Text = Type.Optional(Type.String());

/** Form about one token, with the parameters that authenticate the client. @see RFC 7009 §2.1, RFC 7662 §2.1, RFC 6749 §2.3.1 */
export const TokenForm = Type.Object({
  token: Type.String(),
  /** Accepted and ignored: the server finds both kinds of token without a hint. */
  token_type_hint: Text,
  client_id: Text,
  client_secret: Text,
  client_assertion_type: Text,
  client_assertion: Text,
  /** Accepted and ignored, repeated or not. @see RFC 8707 §2 */
  resource: Type.Optional(Type.Array(Type.String())),
});

/** Returns the parameters that may authenticate the client. */
export const clientParameters = (form: Static<typeof TokenForm>): ReadonlyMap<string, string> =>
  new Map(Object.entries(form).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
