import type { Span } from '../../http/json-scan.ts';
import { withMember } from '../../http/json-walk.ts';
import type { Allow, Decision, ListedItem, Policy } from '../../policy/policy.ts';
import type { CallObserver } from '../../telemetry/call-observer.ts';
import { stackOf } from '../../telemetry/log.ts';
import { edited, forwardParams } from '../aggregation/forward-params.ts';
import type { ListKind, Route } from '../aggregation/view.ts';
import { BackendCall } from './backend-call.ts';
import type { PolicyRefusal } from './failure.ts';
import type { Fleet } from '../backends/fleet.ts';
import type { Call } from '../call.ts';
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
   * Forwards `call` to the backend of `route`. `name` is the advertised name or URI; `nameSpan` is the name in `params`
   * that a renamed route replaces. A request that continues an earlier call is judged in the same way, but not sent.
   */
  forward(call: Call, route: Route, name: string, nameSpan: Span | undefined): void {
    call.answer.routed?.(name, route.backend);
    call.audit?.routed(name, route.backend);
    if (this.#policies.length === 0) {
      this.#send(call, route, name, nameSpan);
      return;
    }
    const policed = new PolicedCall(call, itemOf(route, name, call), this.#deps);
    const policies = call.resumes ? this.#onResumed : this.#policies;
    this.#judge(policies, policed, call, ({ maxReplyBytes }) => {
      this.#send(call, route, name, nameSpan, { maxReplyBytes, replaced: policed.replaced });
    });
  }

  /** Calls `answerIt` when the policies allow a request that the gateway answers itself, on the item of `route`. */
  answerHere(call: Call, route: Route, name: string, answerIt: () => void): void {
    if (this.#policies.length === 0) {
      answerIt();
      return;
    }
    this.#judge(this.#policies, new PolicedCall(call, itemOf(route, name, call), this.#deps), call, answerIt);
  }

  /**
   * Calls `answerIt` for a request on an item that the view does not have, unless a policy that hides items rejects it. `backend` is
   * that of an item that may exist: every policy decides on it.
   */
  answerUnknown(
    call: Call,
    {
      kind,
      name,
      backend = '',
    }: { readonly kind: ListKind; readonly name: string; readonly backend?: string | undefined },
    answerIt: () => void,
  ): void {
    const policies = backend === '' ? this.#onUnknown : this.#policies;
    if (policies.length === 0) {
      answerIt();
      return;
    }
    this.#judge(policies, new PolicedCall(call, { kind, name, backend, json: undefined }, this.#deps), call, answerIt);
  }

  /** Calls `onAllowed`, or answers with the rejection of the first policy that does not allow the call. */
  #judge(policies: readonly Judge[], policed: PolicedCall, call: Call, onAllowed: (decision: Allow) => void): void {
    this.#decide(policies, policed, call, (decision) => {
      if (decision.verdict === 'allow') {
        onAllowed(decision);
        return;
      }
      const refusal = refusalOf(decision);
      policed.end(refusal.kind);
      call.fail(policed.answer, refusal, { name: policed.backend, timeoutMs: 0 });
    });
  }

  /** Calls `settle` with the decision of the policies, unless the client cancels the call before. */
  #decide(policies: readonly Judge[], call: PolicedCall, { held }: Call, settle: (decision: Decision) => void): void {
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
    call: Call,
    route: Route,
    name: string,
    nameSpan: Span | undefined,
    { maxReplyBytes, replaced }: Allowed = NO_CHANGE,
  ): void {
    if (call.resumes) {
      call.resumes();
      return;
    }
    const { session, answer } = call;
    const { params, method } = call.envelope;
    if (params === undefined || method === undefined) throw new Error('a routed request has no params');
    const backend = this.#deps.fleet.runtime(route.backend);
    if (!backend) {
      // the list that stays in use during a conflict may name a removed backend
      const failure = 'unavailable';
      const facts = { session, method, name, backend: route.backend };
      const ended = { failure, errorType: failure, outcome: failure, isSent: false, durationMs: 0 } as const;
      this.#deps.observer.ended({ ...facts, ...ended });
      call.fail(answer, { kind: failure, detail: 'removed' }, { name: route.backend, timeoutMs: 0 });
      return;
    }
    const named = paramsFor(call, params, nameSpan, route);
    const bytes = replaced ? withArguments(named, replaced) : named;
    const originalName = nameSpan ? route.name : name;
    const { headers, client = session } = call;
    const { timeoutMs } = backend;
    const sent = { method, params: bytes, id: answer.id, timeoutMs, headers, item: route.json, client };
    const { trace } = answer;
    const request = trace
      ? traced(sent, trace.sending({ name: originalName, backend: backend.name, peer: backend.peer }))
      : sent;
    const running = new BackendCall(backend, call, request, name, originalName);
    if (maxReplyBytes !== undefined) running.maxReplyBytes = maxReplyBytes;
    running.start();
  }
}

/** Returns the JSON text of `params` for the backend of `route`. */
function paramsFor({ body, edits }: Call, params: Span, name: Span | undefined, route: Route): Buffer {
  // most clients send the name first
  if (edits)
    return edited(body, params, name && route.renamed ? [{ span: name, text: route.nameJson }, ...edits] : edits);
  return name ? forwardParams(body, params, name, route) : body.subarray(params.start, params.end);
}

/** Returns the item of a request. The URI of a read through a template is a resource that no list has. */
function itemOf(route: Route, name: string, { envelope: { method } }: Call): ListedItem {
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

const NO_CHANGE: Allowed = {};

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
