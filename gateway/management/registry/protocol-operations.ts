import { Type } from 'typebox';
import { text } from '../../contract/optional.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { operationsOn, type ManagementOperation } from '../operation.ts';
import { READING_ERRORS } from './errors.ts';
import { findVersion, serverPage, skillPage } from './lookup.ts';
import { ServerPage, ServerRecord } from './schema/server-json.ts';
import { RegistrySkill, SkillPage } from './schema/skill.ts';

const operation = operationsOn('registry');

/** Path prefix of the MCP registry protocol. */
const PROTOCOL_BASE = '/registry/{registryName}/v0.1';

/** Parameter of `PROTOCOL_BASE`. */
const registryName = Type.String({ description: 'Any name: there is one registry.' });

/** Vendor segment of the paths of skills. */
const ext = Type.String({ description: 'Namespace of the vendor: any name, such as `dev.vmcp`.' });

/** Operations of the MCP registry protocol, in the order of the documentation. To add an operation, add an entry. */
export const PROTOCOL_OPERATIONS: readonly ManagementOperation[] = [
  /** @see MCP registry, generic API, revision 2025-12-01 */
  operation({
    id: 'listProtocolServers',
    method: 'GET',
    path: `${PROTOCOL_BASE}/servers`,
    summary: 'List the servers of a registry in the MCP registry protocol',
    input: {
      path: Type.Object({ registryName }),
      query: Type.Object({
        search: text('Text in the name, title or description.'),
        q: text('The same as `search`.'),
        cursor: text('`nextCursor` of the page before.'),
        page: text('Number of the page, from 1, instead of a cursor.'),
        limit: text('Largest number of servers: 1 to 100, 30 by default.'),
        version: text('`latest` or an exact version.'),
        updated_since: text('Lists servers changed since this time (RFC 3339), also deleted ones.'),
        include_deleted: text('`true` lists deleted servers too.'),
      }),
    },
    success: { status: 200, body: ServerPage },
    errors: READING_ERRORS,
    hasStructuredErrors: true,
    run: async ({ registry }, { query }) => serverPage((await registry.catalog()).servers, query),
  }),
  /** @see MCP registry, generic API, revision 2025-12-01 */
  operation({
    id: 'getProtocolServer',
    method: 'GET',
    path: `${PROTOCOL_BASE}/servers/{serverName}/versions/{version}`,
    summary: 'Get a version of a server in the MCP registry protocol',
    input: {
      path: Type.Object({
        registryName,
        serverName: Type.String({ description: 'Name of the server, with its slash as `%2F`.' }),
        version: Type.String({ description: '`latest` or an exact version.' }),
      }),
      query: Type.Object({ include_deleted: text('`true` finds a deleted server too.') }),
    },
    success: { status: 200, body: ServerRecord },
    errors: {
      not_found: { status: 404, message: 'the registry has no such server or version: list its servers' },
      ...READING_ERRORS,
    },
    hasStructuredErrors: true,
    run: async ({ registry }, { path: { serverName, version }, query: { include_deleted } }) => {
      const found = findVersion((await registry.catalog()).servers, serverName, { version, include_deleted });
      if (!found) throw new OperationError('not_found');
      return found;
    },
  }),
  operation({
    id: 'listRegistrySkills',
    method: 'GET',
    path: `${PROTOCOL_BASE}/x/{ext}/skills`,
    summary: 'List the skills of a registry',
    input: {
      path: Type.Object({ registryName, ext }),
      query: Type.Object({
        q: text('Text in the name, namespace or description.'),
        page: text('Number of the page, from 1. Another text means 1.'),
        limit: text('Largest number of skills: 1 to 200, 50 by default.'),
      }),
    },
    success: { status: 200, body: SkillPage },
    errors: READING_ERRORS,
    hasStructuredErrors: true,
    run: async ({ registry }, { query }) => skillPage(await registry.skills(), query),
  }),
  operation({
    id: 'getRegistrySkill',
    method: 'GET',
    path: `${PROTOCOL_BASE}/x/{ext}/skills/{namespace}/{skillName}`,
    summary: 'Get a skill of a registry',
    input: {
      path: Type.Object({
        ...{ registryName, ext },
        namespace: Type.String({ description: 'Owner of the skill in reverse-DNS form.' }),
        skillName: Type.String({ description: 'Name of the skill.' }),
      }),
    },
    success: { status: 200, body: RegistrySkill },
    errors: {
      not_found: { status: 404, message: 'the registry has no such skill: list its skills' },
      ...READING_ERRORS,
    },
    hasStructuredErrors: true,
    run: async ({ registry }, { path: { namespace, skillName } }) => {
      const skill = (await registry.skills()).find(
        (candidate) => candidate.namespace === namespace && candidate.name === skillName,
      );
      if (!skill) throw new OperationError('not_found');
      return skill;
    },
  }),
];
