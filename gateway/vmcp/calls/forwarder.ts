import type { Span } from '../../http/json-scan.ts';
import { withMember } from '../../http/json-walk.ts';
import type { Allow, Decision, ListedItem, Policy } from '../../policy/policy.ts';
import type { CallObserver } from '../../telemetry/call-observer.ts';
import { stackOf } from '../../telemetry/log.ts';
import { edited, forwardParams } from '../aggregation/forward-params.ts';
import type { ListKind, Route } from '../aggregation/view.ts';
import { BackendCall } from './backend-call.ts';
import type { OnFailure, PolicyRefusal } from './failure.ts';
import type { Fleet } from '../backends/fleet.ts';
import type { ClientRequest } from '../client-request.ts';
import type { Answer } from '../answers/answer.ts';
import type { Session } from '../session.ts';
import { decide, type Judge } from './decide.ts';
import { PolicedCall } from './policed-call.ts';
import { traced } from './trace-propagation.ts';
import type { Logger } from '../../contract/logger.ts';

export interface ForwarderDeps {
  readonly fleet: Fleet;
  readonly observer: CallObserver;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Forwarder of client requests to the backends of their routes, after the policies have allowed them. */
export class Forwarder {
  #policies: readonly Policy[] = [];
  /** Those that decide again on a call that continues with the client's input. */
  #onResumed: readonly Policy[] = [];
  /** Decisions on items that do not exist, of the policies that hide items. */
  #onUnknown: readonly Judge[] = [];
  readonly #deps: ForwarderDeps;

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
  }

  /** Policies of the current configuration, in order. */
  get policies(): readonly Policy[] {
    return this.#policies;
  }

  set policies(policies: readonly Policy[]) {
    this.#policies = policies;
    this.#onResumed = policies.filter(({ countsCalls }) => countsCalls !== true);
    this.#onUnknown = policies.flatMap((policy) => {
      const decideUnknown = policy.decideUnknown?.bind(policy);
      return decideUnknown ? [{ decide: decideUnknown }] : [];
    });
  }

  /**
   * Forwards `request` to the backend of `route`. `name` is the advertised name or URI; `nameSpan` is the name in `params`
   * that a renamed route replaces. `onReply` receives the reply before the client does. A request that
   * continues a call is judged in the same way, but not sent.
   */
  forward(
    session: Session,
    request: ClientRequest,
    route: Route,
    name: string,
    nameSpan: Span | undefined,
    answer: Answer,
    onFailure: OnFailure,
    onReply?: (message: Buffer) => void,
  ): void {
    answer.routed?.(name, route.backend);
    request.audit?.routed(name, route.backend);
    if (this.#policies.length === 0) {
      this.#send(session, request, route, name, nameSpan, answer, onFailure, onReply);
      return;
    }
    const call = new PolicedCall(session, request, itemOf(route, name, request), answer, this.#deps);
    const policies = request.resumes ? this.#onResumed : this.#policies;
    this.#judge(policies, call, request, answer, onFailure, ({ maxReplyBytes }) => {
      const allowed = { maxReplyBytes, replaced: call.replaced };
      this.#send(session, request, route, name, nameSpan, answer, onFailure, onReply, allowed);
    });
  }

  /** Calls `answerIt` when the policies allow a request that the gateway answers itself, on the item of `route`. */
  answerHere(
    session: Session,
    request: ClientRequest,
    route: Route,
    name: string,
    answer: Answer,
    onFailure: OnFailure,
    answerIt: () => void,
  ): void {
    if (this.#policies.length === 0) {
      answerIt();
      return;
    }
    const call = new PolicedCall(session, request, itemOf(route, name, request), answer, this.#deps);
    this.#judge(this.#policies, call, request, answer, onFailure, answerIt);
  }

  /**
   * Calls `answerIt` for a request on an item that the view does not have, unless a policy that hides items rejects it. `backend` is
   * that of an item that may exist: every policy decides on it.
   */
  answerUnknown(
    session: Session,
    request: ClientRequest,
    {
      kind,
      name,
      backend = '',
    }: { readonly kind: ListKind; readonly name: string; readonly backend?: string | undefined },
    answer: Answer,
    onFailure: OnFailure,
    answerIt: () => void,
  ): void {
    const policies = backend === '' ? this.#onUnknown : this.#policies;
    if (policies.length === 0) {
      answerIt();
      return;
    }
    const call = new PolicedCall(session, request, { kind, name, backend, json: undefined }, answer, this.#deps);
    this.#judge(policies, call, request, answer, onFailure, answerIt);
  }

  /** Calls `onAllowed`, or answers with the rejection of the first policy that does not allow the call. */
  #judge(
    policies: readonly Judge[],
    call: PolicedCall,
    request: ClientRequest,
    answer: Answer,
    onFailure: OnFailure,
    onAllowed: (decision: Allow) => void,
  ): void {
    this.#decide(policies, call, request, (decision) => {
      if (decision.verdict === 'allow') {
        onAllowed(decision);
        return;
      }
      const refusal = refusalOf(decision);
      call.end(refusal.kind);
      onFailure(answer, refusal, { name: call.backend, timeoutMs: 0 });
    });
  }

  /** Calls `settle` with the decision of the policies, unless the client cancels the call before. */
  #decide(
    policies: readonly Judge[],
    call: PolicedCall,
    { held }: ClientRequest,
    settle: (decision: Decision) => void,
  ): void {
    const decision = this.#decisionOn(policies, call);
    if (!(decision instanceof Promise)) {
      settle(decision);
      return;
    }
    held?.retain();
    call.watch();
    decision
      .catch((error: unknown) => this.#fault(error))
      .then((late) => {
        if (call.isCancelled) return;
        call.unwatch();
        settle(late);
      })
      .catch((error: unknown) => {
        this.#deps.log.error('request failed unexpectedly', { error: stackOf(error) });
      })
      .finally(() => held?.release());
  }

  #decisionOn(policies: readonly Judge[], call: PolicedCall): Decision | Promise<Decision> {
    try {
      return decide(policies, call);
    } catch (error) {
      return this.#fault(error);
    }
  }

  /** Denies the call when a policy fails. */
  #fault(error: unknown): Decision {
    this.#deps.log.error('a policy failed', { error: stackOf(error) });
    return {
      verdict: 'deny',
      reason: 'policy_failed',
      message: 'a policy of the gateway failed, so the call was not sent',
    };
  }

  #send(
    session: Session,
    request: ClientRequest,
    route: Route,
    name: string,
    nameSpan: Span | undefined,
    answer: Answer,
    onFailure: OnFailure,
    onReply: ((message: Buffer) => void) | undefined,
    { maxReplyBytes, replaced }: Allowed = {},
  ): void {
    if (request.resumes) {
      request.resumes();
      return;
    }
    const { params, method } = request.envelope;
    if (params === undefined || method === undefined) throw new Error('a routed request has no params');
    const backend = this.#deps.fleet.runtime(route.backend);
    if (!backend) {
      // the list that stays in use during a conflict may name a removed backend
      const failure = 'unavailable';
      const facts = { session, method, name, backend: route.backend };
      const ended = { failure, errorType: failure, outcome: failure, isSent: false, durationMs: 0 } as const;
      this.#deps.observer.ended({ ...facts, ...ended });
      onFailure(answer, { kind: failure, detail: 'removed' }, { name: route.backend, timeoutMs: 0 });
      return;
    }
    const named = paramsFor(request, params, nameSpan, route);
    const bytes = replaced ? withArguments(named, replaced) : named;
    const originalName = nameSpan ? route.name : name;
    const { headers, client = session } = request;
    const { timeoutMs } = backend;
    const sent = { method, params: bytes, id: answer.id, timeoutMs, headers, item: route.json, client };
    const { trace } = answer;
    new BackendCall(
      backend,
      session,
      name,
      originalName,
      request.identity,
      trace ? traced(sent, trace.sending({ name: originalName, backend: backend.name, peer: backend.peer })) : sent,
      answer,
      onFailure,
      onReply,
      request.held,
      maxReplyBytes,
    ).start();
  }
}

/** Returns the JSON text of `params` for the backend of `route`. */
function paramsFor({ body, edits }: ClientRequest, params: Span, name: Span | undefined, route: Route): Buffer {
  // most clients send the name first
  if (edits)
    return edited(body, params, name && route.renamed ? [{ span: name, text: route.nameJson }, ...edits] : edits);
  return name ? forwardParams(body, params, name, route) : body.subarray(params.start, params.end);
}

/** Returns the item of a request. The URI of a read through a template is a resource that no list has. */
function itemOf(route: Route, name: string, { envelope: { method } }: ClientRequest): ListedItem {
  const { kind, backend, json } = route;
  const isTemplate = kind === 'templates' && name === route.advertised && method === 'completion/complete';
  if (kind === 'templates' && !isTemplate) return { kind: 'resources', name, backend, json: undefined };
  return { kind, name, backend, json: name === route.advertised ? json : undefined };
}

/** What policies have allowed. */
interface Allowed {
  readonly maxReplyBytes?: number | undefined;
  /** JSON text that replaces the arguments of the client. */
  readonly replaced?: Buffer | undefined;
}

/** Returns the JSON text of `params` with other arguments. */
const withArguments = (params: Buffer, replaced: Buffer): Buffer =>
  withMember(params, { start: 0, end: params.length }, 'arguments', replaced.toString('utf8'));

function refusalOf(decision: Exclude<Decision, { readonly verdict: 'allow' }>): PolicyRefusal {
  switch (decision.verdict) {
    case 'deny':
      return { kind: 'denied', ...decision };
    case 'challenge':
      return { kind: 'challenged', ...decision };
    case 'fail':
      return { kind: 'undecided', ...decision };
  }
}
