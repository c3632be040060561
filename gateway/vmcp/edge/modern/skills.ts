import { readString } from '../../../http/json-scan.ts';
import { SKILLS } from '../../aggregation/extensions.ts';
import { advertisedReply, skillServerOf, type UriResult } from '../../aggregation/resources/skills.ts';
import { prefixing, SKILL_SCHEME } from '../../aggregation/resources/uri-names.ts';
import { unlistedRoute } from '../../aggregation/served.ts';
import { RewrittenAnswer } from '../../answers/rewritten-answer.ts';
import { CODE } from '../../error-codes.ts';
import { later } from '../../methods/later.ts';
import { list } from '../../methods/lists.ts';
import type { Method } from '../../methods/method.ts';
import { isListed, skillItem } from '../../views/listed.ts';
import type { VirtualServer } from '../../virtual-server.ts';
import type { Session } from '../../session.ts';

/** Returns true when a backend offers skills, or may offer them when it is back. */
function hasSkills(server: VirtualServer, session: Session, setting?: 'directoryRead'): boolean {
  const { capabilities, unavailable } = server.view(session).current;
  const settings = capabilities.extensions[SKILLS];
  if (settings && (setting === undefined || settings[setting] === true)) return true;
  return unavailable.length > 0;
}

/** Serves a method when a backend offers it; else it is unknown. */
const offered =
  (method: Method, setting?: 'directoryRead'): Method =>
  (server, call) => {
    const { session, answer } = call;
    later(server, call, server.view(session).whenSettled(), () => {
      if (hasSkills(server, session, setting)) method(server, call);
      else answer.error(CODE.methodNotFound, 'method not found: no server has it');
    });
  };

/** Serves a method on one URI of a skill. `unknown` is the message for a URI that no backend has. */
const onSkill =
  (member: UriResult, unknown: string): Method =>
  (server, call) => {
    const { session, answer, body, params, envelope } = call;
    const uri = readString(body, params.uri);
    if (uri === undefined) {
      answer.error(CODE.invalidParams, `${envelope.method ?? ''} needs a "uri" that is a string`);
      return;
    }
    const found = skillServerOf(server.view(session).current, uri);
    if (!found || (member === 'resources' && !found.server.directoryRead)) {
      server.calls.answerUnknown(call, { kind: 'resources', name: uri }, () => {
        answer.error(CODE.invalidParams, unknown, { uri });
      });
      return;
    }
    const { backend } = found.server;
    const { policies } = server.calls;
    const advertise = prefixing(backend, SKILL_SCHEME);
    const isShown = (each: string): boolean => isListed(skillItem(each, backend), session, policies);
    call.answer = new RewrittenAnswer(answer, (message) => advertisedReply(message, member, advertise, isShown));
    const route = unlistedRoute(backend, found.uri, uri);
    server.calls.forward(call, route, uri, params.uri);
  };

/** Serves `skills/list`. @see SEP-2640 */
export const listSkills: Method = offered(list('skills'));

/** Serves `skills/get`, also of a skill that no list has. @see SEP-2640 */
export const getSkill: Method = offered(onSkill('skill', 'no skill is served at this URI'));

/** Serves `resources/directory/read` of the directory of a skill. @see SEP-2640 */
export const readDirectory: Method = offered(
  onSkill('resources', 'this URI is no directory of a skill'),
  'directoryRead',
);
