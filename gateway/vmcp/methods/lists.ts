import { readString } from '../../http/json-scan.ts';
import { olderTools } from '../aggregation/older-tools.ts';
import { listPage } from '../aggregation/pages.ts';
import type { PagedKind, View } from '../aggregation/view.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { CODE } from '../error-codes.ts';
import type { Call } from '../call.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/** Serves one list method from the prepared pages of the view. */
export const list =
  (kind: PagedKind): Method =>
  (server, call) => {
    const { session } = call;
    const view = server.view(session);
    const renewed = server.views.renew(session);
    if (view.settled && !renewed) answerPage(server, server.views.listed(session), kind, call);
    else {
      later(server, call, renewed && view.settled ? renewed : view.whenSettled(), () => {
        answerPage(server, server.views.listed(session), kind, call);
      });
    }
  };

function answerPage(server: VirtualServer, view: View, kind: PagedKind, { body, params, client, answer }: Call): void {
  if (server.failsOnPartial && view.unavailable.length > 0) {
    answer.error(CODE.internal, `backends are unavailable: ${view.unavailable.join(', ')}`, {
      unavailableBackends: view.unavailable,
    });
    return;
  }
  const cursor = readString(body, params.cursor);
  if (params.cursor !== undefined && cursor === undefined) {
    answer.error(CODE.invalidParams, '"cursor" must be a string');
    return;
  }
  const page = listPage(view, kind, cursor);
  if ('reason' in page) answer.error(CODE.invalidParams, page.message);
  else answer.result(kind === 'tools' && client === undefined ? olderTools(page) : page);
}
