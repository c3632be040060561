import type { Method } from '../../methods/method.ts';
import { later } from '../../methods/later.ts';
import { SUPPORTED_REVISIONS } from './classify.ts';

/**
 * Serves `server/discover`. It declares every list, because backends may offer their first item later and that is
 * announced, and `subscribe` when a known backend supports it.
 */
export const discover: Method = (server, session, request, answer) => {
  const view = server.view(session);
  const send = (): void => {
    const { resourcesSubscribe: subscribe } = view.current.capabilities;
    const capabilities = {
      tools: { listChanged: true },
      resources: subscribe ? { listChanged: true, subscribe } : { listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    };
    answer.result(JSON.stringify({ supportedVersions: SUPPORTED_REVISIONS, capabilities }));
  };
  if (view.settled) send();
  else later(server, request, answer, view.whenSettled(), send);
};
