import { accepted, refused, type Outcome } from '../core/refusal.ts';
import type { RequestParameters } from '../core/request-parameters.ts';

/** The token that a form is about; what `token_type_hint` says of it is not needed. @see RFC 7009 §2.1, RFC 7662 §2.1 */
export function tokenOf(form: RequestParameters): Outcome<string> {
  if (form.duplicated.length > 0) return refused('parameter_duplicated');
  const token = form.one('token');
  return token === undefined ? refused('token_missing') : accepted(token);
}
