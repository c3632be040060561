import { arrayElements, isArraySpan, memberOf } from '../../../../http/json-walk.ts';
import { readString, type Envelope } from '../../../../http/json-scan.ts';
import type { Route } from '../../../aggregation/view.ts';
import type { BackendRuntime } from '../../../backends/backend.ts';
import type { Logger } from '../../../../contract/logger.ts';
import type { Call } from '../../../call.ts';
import { revisionOf } from '../../../../contract/protocol/revisions.ts';
import type { Session } from '../../../session.ts';
import { BackendError, type BackendRequest, type Channel, type RequestHandle } from '../../../transport/channel.ts';
import { LONGEST_STREAM_MS } from '../../../transport/modern/modern-requests.ts';
import type { VirtualServer } from '../../../virtual-server.ts';
import { Verdict } from '../resource-subscription.ts';
import type { TaskIds, TaskOrigin } from './task-ids.ts';
import { taskIdIn, withTaskId } from './task-text.ts';

/** Receiver of the notifications of a `TaskWatch`. */
export interface TaskListener {
  /** Receives a `notifications/tasks` under the id of the client. */
  taskChanged(message: Buffer): void;
  /** Called when a stream of a backend has ended: further notifications would be missing. */
  end(): void;
}

/** Ids that clients know, by the id of the backend. */
type Wanted = ReadonlyMap<string, string>;

interface Opened {
  readonly handle: RequestHandle;
  /** Ids of the backend that it has accepted. */
  readonly accepted: readonly string[];
}

/** Notifications about tasks for one `subscriptions/listen` of a client: a stream from each backend of these tasks. */
export class TaskWatch {
  /** Ids of the client for which notifications come. */
  readonly accepted: readonly string[];
  readonly #streams: readonly BackendTasks[];

  /** Opens the streams. Leaves out unknown tasks, and those that a policy or their backend does not accept. */
  static async open(server: VirtualServer, call: Call, tasks: TaskIds, ids: readonly string[]): Promise<TaskWatch> {
    const { session } = call;
    await server.view(session).whenSettled();
    const known = await Promise.all(ids.map((id) => permitted(server, call, tasks, id)));
    const byBackend = Map.groupBy(
      known.flatMap((each) => each ?? []),
      ({ backend }) => backend,
    );
    const opening = [...byBackend].map(async ([name, wanted]) => {
      const backend = server.fleet.runtime(name);
      if (!backend) return [];
      const stream = new BackendTasks(backend, session, new Map(wanted.map(({ taskId, id }) => [taskId, id])));
      return (await stream.open(call, server.log)) ? [stream] : [];
    });
    return new TaskWatch((await Promise.all(opening)).flat());
  }

  private constructor(streams: readonly BackendTasks[]) {
    this.#streams = streams;
    this.accepted = streams.flatMap(({ accepted }) => accepted);
  }

  /** Passes on what has come so far, and what comes. */
  attach(listener: TaskListener): void {
    for (const stream of this.#streams) stream.attach(listener);
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }
}

/** Returns the task with this id of the client; undefined for one that it may not see. */
async function permitted(
  server: VirtualServer,
  call: Call,
  tasks: TaskIds,
  id: string,
): Promise<(TaskOrigin & { readonly id: string }) | undefined> {
  const { session } = call;
  const origin = tasks.open(id, session.principal);
  const route = origin && server.view(session).current.tools.get(origin.tool);
  if (!route || route.backend !== origin.backend) return undefined;
  return (await isAllowed(server, call, route)) ? { ...origin, id } : undefined;
}

const isAllowed = (server: VirtualServer, call: Call, route: Route): Promise<boolean> =>
  new Promise((resolve) => {
    server.calls.answerHere(call.copyFor(new Verdict(resolve)), route, route.advertised, () => {
      resolve(true);
    });
  });

/** Stream of one backend. */
class BackendTasks {
  accepted: readonly string[] = [];
  readonly #backend: BackendRuntime;
  readonly #session: Session;
  readonly #wanted: Wanted;
  #handle: RequestHandle | undefined;
  #listener: TaskListener | undefined;
  /** Newest message about each task before `attach`. */
  readonly #early = new Map<string, Buffer>();
  #isOver = false;

  constructor(backend: BackendRuntime, session: Session, wanted: Wanted) {
    this.#backend = backend;
    this.#session = session;
    this.#wanted = wanted;
  }

  /** Returns false when the backend does not accept any task. */
  async open({ headers, client }: Call, log: Logger): Promise<boolean> {
    const { taskStreams, timeoutMs } = this.#backend;
    if (!taskStreams.take(this.#session.principal)) return false;
    const params = Buffer.from(JSON.stringify({ notifications: { taskIds: [...this.#wanted.keys()] } }));
    const request = { method: 'subscriptions/listen', params, id: OWN_ID, timeoutMs: LONGEST_STREAM_MS };
    const opened = await this.#backend
      .runFor(this.#session, (channel, credential) =>
        this.#openOn(channel, { ...request, headers, client, credential }, timeoutMs),
      )
      .catch((error: unknown) => {
        log.debug('stream of a backend failed', { backend: this.#backend.name, error: String(error) });
        return undefined;
      });
    this.#handle = opened?.handle;
    this.accepted = (opened?.accepted ?? []).flatMap((id) => this.#wanted.get(id) ?? []);
    if (this.accepted.length > 0) return true;
    this.close();
    return false;
  }

  attach(listener: TaskListener): void {
    this.#listener = listener;
    for (const message of this.#early.values()) listener.taskChanged(message);
    this.#early.clear();
    if (this.#isOver) listener.end();
  }

  close(): void {
    this.#listener = undefined;
    this.#handle?.cancel('the client has left');
    this.#release();
  }

  #openOn(channel: Channel, request: BackendRequest, waitMs: number): Promise<Opened | undefined> {
    if (!revisionOf(channel.facts.revision).listens) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        handle.cancel('no acknowledgement');
      }, waitMs);
      let isOpen = false;
      const ended = (settle: () => void): void => {
        clearTimeout(timer);
        if (isOpen) this.#ended();
        else settle();
      };
      const none = (): void => {
        ended(() => {
          resolve(undefined);
        });
      };
      const handle = channel.request(request, {
        reply: none,
        message: (message, envelope) => {
          if (envelope.method === 'notifications/tasks') this.#changed(message, envelope);
          if (envelope.method !== 'notifications/subscriptions/acknowledged') return;
          clearTimeout(timer);
          isOpen = true;
          resolve({ handle, accepted: acceptedIn(message, envelope) });
        },
        fail: (failure) => {
          ended(() => {
            reject(new BackendError(failure));
          });
        },
      });
    });
  }

  #changed(message: Buffer, { params }: Envelope): void {
    const found = taskIdIn(message, params);
    const id = found && this.#wanted.get(found.id);
    if (!found || id === undefined) return;
    const renamed = withTaskId(message, found.span, id);
    if (this.#listener) this.#listener.taskChanged(renamed);
    else this.#early.set(id, renamed);
  }

  #ended(): void {
    this.#release();
    this.#listener?.end();
  }

  #release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backend.taskStreams.leave(this.#session.principal);
  }
}

const OWN_ID = Buffer.from('0');

function acceptedIn(message: Buffer, { params }: Envelope): string[] {
  const ids = memberOf(message, memberOf(message, params, 'notifications'), 'taskIds');
  if (!ids || !isArraySpan(message, ids)) return [];
  return arrayElements(message, ids).flatMap((id) => readString(message, id) ?? []);
}
