import { Type } from 'typebox';
import { parseObject } from '../../contract/json.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { memberTexts } from '../../http/known-members.ts';
import { explainTools, Explanation } from '../../policy/explain/explanation.ts';
import { lenientMember } from '../frame/lenient-json.ts';
import { API_BASE, operationsOn, type ManagementOperation } from '../operation.ts';
import type { ExplainedServer } from './explained-servers.ts';

const operation = operationsOn('policies');

const Claims = Type.Object(
  { sub: Type.String({ minLength: 1, description: 'Subject of the user.' }) },
  {
    additionalProperties: true,
    description: 'Claims of the user: of the token, or of the upstream provider that the policies read.',
  },
);

const Request = Type.Object({
  claims: Claims,
  server: Type.Optional(
    Type.String({
      description: 'NAME or NAMESPACE/NAME of a virtual server, or a workload. Required when there are several.',
    }),
  ),
  tool: Type.Optional(Type.String({ description: 'Name of the tool as clients see it. Absent: every tool.' })),
  arguments: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Arguments of the call, for policies that read them.' }),
  ),
});

const Answer = Type.Object({
  server: Type.String({ description: 'NAMESPACE/NAME of the virtual server, or name of the workload.' }),
  tools: Type.Array(Explanation),
  unknown: Type.Array(Type.String(), {
    description: 'Backends whose tools are not listed: they do not answer, or they list tools for each user.',
  }),
});

const serverKey = ({ namespace, name }: ExplainedServer): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

/** Operations on policies, in the order of the documentation. To add an operation, add an entry. */
export const POLICY_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'explainPolicies',
    method: 'POST',
    path: `${API_BASE}/policies/explain`,
    summary: 'Explain which tools a user may call',
    description:
      'Answers for each tool whether the user may call it, by which policy, which field hides it, and which credential its backend receives, ' +
      'as `vmcp explain` does for files. Calls nothing and needs no login of the user.',
    input: { body: Request, bodyText: true },
    success: { status: 200, body: Answer },
    errors: {
      server_not_found: { status: 404, message: 'this process runs no such virtual server or workload' },
      server_required: { status: 400, message: 'this process runs several servers: set "server"' },
    },
    run: async ({ servers }, { body: { claims, server: name, tool }, bodyText }) => {
      const server = choose(servers(), name);
      const { tools, unknown } = await server.listTools();
      // of the text, because the frame drops members that are null, and numbers do not show how they were written
      const args = lenientMember(bodyText, 'arguments');
      const written = parseObject(String(lenientMember(bodyText, 'claims')));
      const call = {
        claims: { ...written, sub: claims.sub },
        arguments: args,
        readArguments: (isRead: (name: string) => boolean = () => true) => args && memberTexts(args, isRead),
        tool,
      };
      return { server: serverKey(server), tools: explainTools(server.config, tools, call), unknown };
    },
  }),
];

/** Throws `server_not_found` and `server_required`. */
function choose(servers: readonly ExplainedServer[], name: string | undefined): ExplainedServer {
  const named = name === undefined ? servers : servers.filter((one) => one.name === name || serverKey(one) === name);
  const [found, other] = named;
  if (found && !other) return found;
  const known = servers.map(serverKey).join(', ');
  if (found) throw new OperationError('server_required', `set "server" to one of ${known}`);
  const detail = known === '' ? 'this process runs no servers' : `there is no such server: use one of ${known}`;
  throw new OperationError('server_not_found', detail);
}
