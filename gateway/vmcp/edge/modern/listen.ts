import { scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { isObjectSpan, memberOf, withMember, type Span } from '../../../http/json-walk.ts';
import { hasTooManyMembers } from '../../../http/known-members.ts';
import type { Answer } from '../../answers/answer.ts';
import { SHUTTING_DOWN } from '../../answers/ending.ts';
import { digestsOf } from '../../announce.ts';
import { SESSION_SUBSCRIPTIONS } from '../../budgets/limits.ts';
import type { Call } from '../../call.ts';
import { SUBSCRIPTION_ID } from '../../../contract/protocol/revisions.ts';
import { CODE } from '../../error-codes.ts';
import { later } from '../../methods/later.ts';
import type { Method } from '../../methods/method.ts';
import type { ListDigests, Listener, Session } from '../../session.ts';
import type { VirtualServer } from '../../virtual-server.ts';
import { subscribe, unsubscribe } from './resource-subscription.ts';
import type { TaskIds } from './tasks/task-ids.ts';
import { declaresTasks, TASKS_UNDECLARED } from './tasks/task-text.ts';
import { TaskWatch, type TaskListener } from './tasks/task-watch.ts';

/** Changes that a client wants to be notified of. */
interface Filter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

const LISTS = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
] as const;

/**
 * Serves `subscriptions/listen`: a stream that begins with the accepted part of the filter and lasts until the client
 * leaves or the gateway begins to stop. @see MCP 2026-07-28, basic/utilities/subscriptions, SEP-2663
 */
export const listen =
  (tasks: TaskIds): Method =>
  (server, call) => {
    const { session, answer } = call;
    if (server.draining) {
      answer.end(SHUTTING_DOWN);
      return;
    }
    const filter = readFilter(call);
    if (typeof filter === 'string') {
      answer.error(CODE.invalidParams, filter);
      return;
    }
    const { resourceSubscriptions: uris = [], taskIds = [], ...lists } = filter;
    if (taskIds.length > 0 && !declaresTasks(session)) {
      answer.error(...TASKS_UNDECLARED);
      return;
    }
    if (uris.length === 0 && taskIds.length === 0) {
      new ListenStream(server, session, lists, answer).open();
      return;
    }
    const opening = Promise.all([
      subscribe(server, call, uris),
      taskIds.length === 0 ? undefined : TaskWatch.open(server, call, tasks, taskIds),
    ]);
    later(server, call, opening, ([accepted, watch]) => {
      const honored = {
        ...lists,
        ...(accepted.length > 0 && { resourceSubscriptions: accepted }),
        ...(watch && watch.accepted.length > 0 && { taskIds: watch.accepted }),
      };
      new ListenStream(server, session, honored, answer, watch).open();
    });
  };

/** Returns the filter of a request, or a message about what is wrong with it. */
function readFilter({ body, envelope }: Call): Filter | string {
  const span = memberOf(body, envelope.params, 'notifications');
  if (!span || !isObjectSpan(body, span)) return 'subscriptions/listen needs an object "notifications"';
  if (hasTooManyMembers(body, span)) return '"notifications" has more than 1000 members';
  const given = JSON.parse(body.toString('utf8', span.start, span.end)) as Record<string, unknown>;
  const uris = readStrings(given, 'resourceSubscriptions');
  const ids = readStrings(given, 'taskIds');
  if (typeof uris === 'string') return uris;
  if (typeof ids === 'string') return ids;
  const wanted = LISTS.filter(([, member]) => given[member] === true).map(([, member]) => [member, true]);
  return {
    ...(Object.fromEntries(wanted) as Filter),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(ids.length > 0 && { taskIds: ids }),
  };
}

/** Returns the strings of a member, each once, or a message about what is wrong with it. */
function readStrings(given: Readonly<Record<string, unknown>>, member: string): readonly string[] | string {
  const list = given[member] ?? [];
  if (!Array.isArray(list) || !list.every((each) => typeof each === 'string'))
    return `"${member}" must be a list of strings`;
  const { count } = SESSION_SUBSCRIPTIONS;
  return list.length > count ? `"${member}" may have ${String(count)} entries` : [...new Set(list)];
}

/** One stream. */
class ListenStream implements Listener, TaskListener {
  readonly #server: VirtualServer;
  readonly #session: Session;
  readonly #filter: Filter;
  readonly #uris: ReadonlySet<string>;
  readonly #answer: Answer;
  readonly #watch: TaskWatch | undefined;
  #seen: ListDigests;

  constructor(server: VirtualServer, session: Session, filter: Filter, answer: Answer, watch?: TaskWatch) {
    this.#server = server;
    this.#session = session;
    this.#filter = filter;
    this.#uris = new Set(filter.resourceSubscriptions);
    this.#answer = answer;
    this.#watch = watch;
    this.#seen = digestsOf(server.views.listed(session));
  }

  open(): void {
    this.#send('notifications/subscriptions/acknowledged', `"notifications":${JSON.stringify(this.#filter)}`);
    if (Object.keys(this.#filter).length === 0) {
      this.#finish();
      return;
    }
    (this.#session.listeners ??= new Set()).add(this);
    this.#answer.watchClient(this);
    this.#server.listen(this.#session);
    this.#watch?.attach(this);
    if (this.#session.ended || this.#server.draining) this.end();
  }

  changed(lists: ListDigests): void {
    const before = this.#seen;
    this.#seen = lists;
    for (const [list, member] of LISTS)
      if (this.#filter[member] && before[list] !== lists[list]) this.#send(`notifications/${list}/list_changed`);
  }

  updated(uri: string, message: Buffer, params: Span): void {
    if (this.#uris.has(uri)) this.#relay(message, params);
  }

  taskChanged(message: Buffer): void {
    const { params } = scanBackendEnvelope(message);
    if (params) this.#relay(message, params);
  }

  policiesChanged(): void {
    if (this.#watch) this.end();
  }

  /** Sends a notification of a backend under the id of this stream. */
  #relay(message: Buffer, params: Span): void {
    const meta = memberOf(message, params, '_meta');
    const own = meta && isObjectSpan(message, meta) ? message.subarray(meta.start, meta.end) : EMPTY;
    const tagged = withMember(own, { start: 0, end: own.length }, SUBSCRIPTION_ID, this.#id);
    const text = withMember(message, params, '_meta', tagged.toString('utf8'));
    this.#write(Buffer.concat([message.subarray(0, params.start), text, message.subarray(params.end)]));
  }

  end(): void {
    if (this.#leave()) this.#finish();
  }

  clientLeft(): void {
    if (this.#leave()) this.#answer.drop();
  }

  get #id(): string {
    return this.#answer.id.toString('utf8');
  }

  #finish(): void {
    this.#answer.result(`{"_meta":{${JSON.stringify(SUBSCRIPTION_ID)}:${this.#id}}}`);
  }

  /** Returns false when the stream has ended before. */
  #leave(): boolean {
    const { listeners } = this.#session;
    if (!listeners?.delete(this)) return false;
    if (listeners.size === 0) this.#session.listeners = undefined;
    this.#answer.unwatchClient();
    unsubscribe(this.#server, this.#session, this.#uris);
    this.#watch?.close();
    return true;
  }

  #send(method: string, members = ''): void {
    const meta = `"_meta":{${JSON.stringify(SUBSCRIPTION_ID)}:${this.#id}}`;
    const params = members === '' ? meta : `${members},${meta}`;
    this.#write(Buffer.from(`{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`));
  }

  #write(message: Buffer): void {
    this.#answer.message(message, NOTIFICATION);
  }

  wants(uri: string): boolean {
    return this.#uris.has(uri);
  }
}

const EMPTY = Buffer.from('{}');

/** A notification, as far as answers read it. */
const NOTIFICATION: Envelope = {
  id: undefined,
  method: 'notifications/subscriptions',
  params: undefined,
  result: undefined,
  error: undefined,
};
