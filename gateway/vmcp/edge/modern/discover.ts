import type { Method } from '../../methods/method.ts';
import { later } from '../../methods/later.ts';
import { serverCapabilities } from '../initialize.ts';
import { SUPPORTED_REVISIONS } from '../../../contract/protocol/revisions.ts';

/** Serves `server/discover`. */
export const discover: Method = (server, call) => {
  const { session, answer } = call;
  const view = server.view(session);
  const send = (): void => {
    const { capabilities, instructions } = server.views.listed(session);
    answer.result(
      JSON.stringify({
        supportedVersions: SUPPORTED_REVISIONS,
        capabilities: serverCapabilities(capabilities.extensions),
        instructions: instructions.merged,
      }),
    );
  };
  if (view.settled) send();
  else later(server, call, view.whenSettled(), send);
};
