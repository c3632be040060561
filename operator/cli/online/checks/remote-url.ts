import { ANY_ANSWER } from '../../probes/http-get.ts';
import { replyOf, unreachable, type OnlineCheck } from '../online-check.ts';

/** Checks that an HTTP server answers at the URL. MCP servers reject a HEAD request in many ways: each is an answer. */
export const remoteUrl: OnlineCheck = async ({ value }, { get }) => {
  const reply = await replyOf(get, value, ANY_ANSWER);
  return typeof reply === 'string' ? unreachable(`${reply}: start it, or correct the URL`) : undefined;
};
