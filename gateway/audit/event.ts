import { Type, type Static } from 'typebox';
import { Closed } from '../contract/fields.ts';
import { flag, text, whole } from '../contract/optional.ts';
import { AUDIT_EVENT_TYPES, type AuditEventType } from '../contract/run-config/audit.ts';

const OUTCOMES = ['success', 'failure', 'error', 'denied', 'application_error'] as const;
export type Outcome = (typeof OUTCOMES)[number];

const Source = Closed(
  {
    type: Type.Enum(['network', 'internal'], {
      description: '`network`: a request. `internal`: the gateway itself, for example when an idle session ends.',
    }),
    value: Type.String({
      description:
        'Address of the client. That of `X-Forwarded-For` if the peer is in `trustedProxies`. For `internal`: `gateway`.',
    }),
    extra: Type.Optional(
      Closed({
        user_agent: text('`User-Agent` of the request, at most 256 characters.'),
        request_id: text('`X-Request-Id` of the response; also in the log line of a rejected request.'),
        session_id: text('MCP session.'),
      }),
    ),
  },
  { description: 'Origin of the event.' },
);

const Subjects = Closed(
  {
    user: Type.String({ description: '`name`, `preferred_username` or `email` of the token, else `anonymous`.' }),
    user_id: text('`sub` of the token.'),
    issuer: text('`iss` of the token.'),
    client_name: text(
      'Name that the client sent in `initialize`, or in `_meta` of a 2026-07-28 request. Not verified.',
    ),
    client_version: text('Version that the client sent there. Not verified.'),
  },
  { description: 'User and client.' },
);

const Target = Closed(
  {
    endpoint: text('Path of the request, without its query.'),
    method: text('MCP method, else HTTP method.'),
    type: text('`tool`, `resource`, `prompt`, `session`, `login`, `upstream_token`, `operation` or `endpoint`.'),
    name: text('Advertised name of the tool or prompt, URI of the resource, or operation of the management API.'),
  },
  { description: 'What the event is about.' },
);

const Extra = Type.Object(
  {
    duration_ms: whole('Time from the request to its complete response, or to the first byte of an event stream.'),
    transport: text('`streamable-http`, `sse` (2024-11-05) or `http`.'),
    backend_name: text('Server that the request was forwarded to.'),
    response_size: whole('Bytes of the JSON-RPC response.'),
    revision: text('MCP revision of the session, or of a request without one.'),
    status: whole(
      'HTTP status of the response; 499 when there is none, or not all of it, because the client has cancelled the request or left.',
    ),
    jsonrpc_error_code: whole('Code of the JSON-RPC error.'),
    reason: text(
      'Why the request was rejected or has no reply (`cancelled`, `client_left`), or why the session ended: one of a fixed set of words.',
    ),
  },
  {
    additionalProperties: true,
    description: 'Details. Events of the authorization server have their own, such as `client_id` and `provider`.',
  },
);

const Data = Closed(
  {
    request: Type.Optional(
      Type.Unknown({ description: 'JSON-RPC request, with `includeRequestData`. Text if it was cut.' }),
    ),
    response: Type.Optional(
      Type.Unknown({ description: 'JSON-RPC response, with `includeResponseData`. Text if it was cut.' }),
    ),
    truncated: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Members that were cut at `maxDataSize` bytes: `request`, `response`.',
      }),
    ),
  },
  { description: 'Contents of the exchange.' },
);

const Delegation = Closed(
  {
    chain: Type.Array(Closed({ iss: text('Issuer.'), sub: text('Subject.') }), {
      description: 'Actors of the nested `act` claims, the current one first (RFC 8693, section 4.1).',
    }),
    truncated: flag('There are more actors than `maxDelegationDepth`.'),
    omitted: whole('Number of these actors.'),
    malformed: flag('An `act` claim is no object with `sub`; it and what it contains is left out.'),
  },
  { description: 'Actors on behalf of the user, when the token has `act`.' },
);

/** One audit event, as it is written. */
export const AuditEvent = Closed({
  time: Type.String({ description: 'Time of the event, RFC 3339 in UTC.' }),
  level: Type.Enum(['AUDIT'], { description: 'Tells audit events from other lines.' }),
  msg: Type.Enum(['audit_event'], { description: 'Always the same.' }),
  audit_id: Type.String({ description: 'UUID of the event.' }),
  type: Type.Enum([...AUDIT_EVENT_TYPES], { description: 'Type of the event.' }),
  logged_at: Type.String({ description: 'The same as `time`.' }),
  component: Type.String({ description: '`component` of the settings, else the name of the virtual server.' }),
  outcome: Type.Enum([...OUTCOMES], {
    description:
      '`success`; `denied`: 401, 403, or a call that a policy denied; `failure`: another 4xx, a call over a limit, or no reply because the client has cancelled the request or left; `error`: 5xx, or a call that the gateway could not serve or judge; `application_error`: a result with `isError`, or another JSON-RPC error.',
  }),
  source: Source,
  subjects: Subjects,
  target: Target,
  metadata: Closed({ extra: Extra }, { description: 'Further facts.' }),
  delegation: Type.Optional(Delegation),
  data: Type.Optional(Data),
});

export type Source = Static<typeof Source>;
export type Subjects = Static<typeof Subjects>;
export type Target = Static<typeof Target>;
export type Extra = Static<typeof Extra>;
export type Delegation = Static<typeof Delegation>;
export type AuditEvent = Static<typeof AuditEvent>;

/** JSON texts of the members of `data`. */
export interface CapturedData {
  readonly request?: Captured | undefined;
  readonly response?: Captured | undefined;
}

/** JSON text of a request or response, ready for a line. */
export interface Captured {
  readonly json: string;
  readonly truncated: boolean;
}

/** Stands for the status of a response that the client has not received, as in the logs of nginx. */
export const CLIENT_LEFT_STATUS = 499;

/** Returns the outcome of a response with this HTTP status. */
export function outcomeOfStatus(status: number): Outcome {
  if (status < 400) return 'success';
  if (status === 401 || status === 403) return 'denied';
  return status < 500 ? 'failure' : 'error';
}

/** Facts of one event. */
export interface EventFacts {
  readonly type: AuditEventType;
  readonly outcome: Outcome;
  readonly source: Source;
  readonly who: WhoText;
  readonly target: Target;
  readonly extra: Extra;
  readonly data?: CapturedData | undefined;
}

/** JSON texts of the members about the user, which many events share. */
export interface WhoText {
  readonly subjects: string;
  readonly delegation: string | undefined;
}

/** Members of an event that its facts do not decide. `component` is JSON text. */
export interface Frame {
  readonly time: string;
  readonly id: string;
  readonly component: string;
}

/** Renders an event as one line of JSON with a line break: in half of the time of `JSON.stringify`. */
export function lineOf({ time, id, component }: Frame, facts: EventFacts): string {
  const { type, outcome, source, who, target, extra, data } = facts;
  const delegation = who.delegation === undefined ? '' : `,"delegation":${who.delegation}`;
  const members = data === undefined ? [] : membersOf(data);
  const contents = members.length === 0 ? '' : `,"data":{${members.join(',')}}`;
  return (
    `{"time":"${time}","level":"AUDIT","msg":"audit_event","audit_id":"${id}","type":"${type}","logged_at":"${time}",` +
    `"component":${component},"outcome":"${outcome}","source":${JSON.stringify(source)},"subjects":${who.subjects},` +
    `"target":${JSON.stringify(target)},"metadata":{"extra":${JSON.stringify(extra)}}${delegation}${contents}}\n`
  );
}

function membersOf({ request, response }: CapturedData): string[] {
  const truncated = [...(request?.truncated ? ['request'] : []), ...(response?.truncated ? ['response'] : [])];
  return [
    ...(request ? [`"request":${request.json}`] : []),
    ...(response ? [`"response":${response.json}`] : []),
    ...(truncated.length > 0 ? [`"truncated":${JSON.stringify(truncated)}`] : []),
  ];
}
