import { readString } from '../../http/json-scan.ts';
import { listPage } from '../aggregation/pages.ts';
import type { ListKind } from '../aggregation/view.ts';
import type { Answer } from '../edge/answer.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { CODE } from '../error-codes.ts';
import type { ClientRequest } from '../client-request.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/** `tools/list`, `resources/list`, `resources/templates/list`, `prompts/list`: a ready-made page. */
export const list =
  (kind: ListKind): Method =>
  (server, _session, request, answer) => {
    if (server.view.settled) answerPage(server, kind, request, answer);
    else {
      later(server, answer, server.view.whenSettled(), () => {
        answerPage(server, kind, request, answer);
      });
    }
  };

function answerPage(server: VirtualServer, kind: ListKind, { body, params }: ClientRequest, answer: Answer): void {
  const view = server.view.current;
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
  else answer.result(page);
}
