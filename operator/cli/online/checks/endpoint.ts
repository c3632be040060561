import { ANY_ANSWER } from '../../probes/http-get.ts';
import { replyOf, unchecked, unreachable, type OnlineCheck } from '../online-check.ts';

/** Checks that an HTTP server answers at a token or userinfo endpoint. Such an endpoint may reject HEAD in any way. */
export const endpoint: OnlineCheck = async ({ value }, { get }) => {
  const reply = await replyOf(get, value, ANY_ANSWER);
  if (typeof reply === 'string') return unreachable(`${reply}: start it, or correct the URL`);
  if (reply.status !== 404) return undefined;
  return unchecked(`${value} answers 404 to HEAD: correct its path if the provider has no such endpoint`);
};
