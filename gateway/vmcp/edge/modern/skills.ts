import { readString } from '../../../http/json-scan.ts';
import { advertisedReply, skillServerOf, type SkillResult } from '../../aggregation/skills.ts';
import type { Route, SkillServer } from '../../aggregation/view.ts';
import type { Answer } from '../../answers/answer.ts';
import type { ClientRequest } from '../../client-request.ts';
import { CODE } from '../../error-codes.ts';
import { failRequest } from '../../methods/failures.ts';
import { later } from '../../methods/later.ts';
import type { Method } from '../../methods/method.ts';
import { readResource } from '../../methods/read-resource.ts';
import type { Session } from '../../session.ts';
import { isListed, skillItem } from '../../views/listed.ts';
import type { VirtualServer } from '../../virtual-server.ts';
import { RewrittenAnswer } from '../../answers/rewritten-answer.ts';

const SKILL_URI = Buffer.from('"skill:');

/** Serves `resources/read`: a file of a skill under its advertised URI, and every other resource as it is. */
export const readResourceOrSkill: Method = (server, session, request, answer) => {
  const { body } = request;
  const { uri: span } = request.params;
  const isSkill = span && span.end - span.start > SKILL_URI.length && startsWith(body, span.start, SKILL_URI);
  if (!isSkill) {
    readResource(server, session, request, answer);
    return;
  }
  forwardToSkill(server, session, request, answer, 'contents', () => {
    readResource(server, session, request, answer);
  });
};

/** Serves `skills/get`, also of a skill that no list has. @see SEP-2640 */
export const getSkill: Method = (server, session, request, answer) => {
  forwardToSkill(server, session, request, answer, 'skill', (uri) => {
    unknown(server, session, request, answer, uri, 'no skill is served at this URI');
  });
};

/** Serves `resources/directory/read` of the directory of a skill. @see SEP-2640 */
export const readDirectory: Method = (server, session, request, answer) => {
  forwardToSkill(server, session, request, answer, 'resources', (uri) => {
    unknown(server, session, request, answer, uri, 'this URI is no directory of a skill');
  });
};

/** Forwards a request on a URI to the backend of its skill, or calls `otherwise` when there is none. */
function forwardToSkill(
  server: VirtualServer,
  session: Session,
  request: ClientRequest,
  answer: Answer,
  result: SkillResult,
  otherwise: (uri: string) => void,
): void {
  const { uri: span } = request.params;
  const uri = readString(request.body, span);
  if (uri === undefined) {
    answer.error(CODE.invalidParams, `${request.envelope.method ?? ''} needs a "uri" that is a string`);
    return;
  }
  later(server, request, answer, server.view(session).whenSettled(), () => {
    const found = skillServerOf(server.view(session).current, uri);
    if (!found || (result === 'resources' && !found.server.directoryRead)) {
      otherwise(uri);
      return;
    }
    const { backend } = found.server;
    const isShown = (each: string): boolean => isListed(skillItem(each, backend), session, server.calls.policies);
    const rewritten = new RewrittenAnswer(answer, (message) => advertisedReply(backend, message, result, isShown));
    server.calls.forward(session, request, routeTo(found.server, uri, found.uri), uri, span, rewritten, failRequest);
  });
}

function unknown(
  server: VirtualServer,
  session: Session,
  request: ClientRequest,
  answer: Answer,
  uri: string,
  message: string,
): void {
  server.calls.answerUnknown(session, request, { kind: 'resources', name: uri }, answer, failRequest, () => {
    answer.error(CODE.invalidParams, message, { uri });
  });
}

/** Returns the route to a file or directory of a skill. Policies judge it like a resource that no list has. */
const routeTo = ({ backend }: SkillServer, advertised: string, name: string): Route => ({
  kind: 'templates',
  backend,
  name,
  advertised,
  renamed: true,
  nameJson: Buffer.from(JSON.stringify(name)),
  json: NO_ITEM,
});

const NO_ITEM = Buffer.from('{}');

const startsWith = (text: Buffer, at: number, word: Buffer): boolean =>
  text.compare(word, 0, word.length, at, at + word.length) === 0;
