import { Type } from 'typebox';
import { Closed, HttpUrl } from '../../gateway/contract/fields.ts';
import { flag, text } from '../../gateway/contract/optional.ts';
import { caBundleRef, NameRef, nameRef } from '../../gateway/contract/references.ts';
import { safeUrl } from '../../gateway/contract/rule.ts';
import { headerForward, headerForwardRules, hostHeader } from './fields/header-fields.ts';
import { AGE, defineKind, labelName, statusFields, type ObjectOf } from './schema/kind.ts';

/** Remote MCP server that already runs. */
export const MCPServerEntry = defineKind({
  kind: 'MCPServerEntry',
  collection: 'entries',
  role: 'member',
  shortNames: ['mcpentry'],
  description: 'Remote MCP server that already runs. It belongs to a group.',
  spec: Closed(
    {
      groupRef: NameRef('MCPGroup of the server.'),
      remoteUrl: HttpUrl('MCP endpoint of the server.', { maxLength: 2048 }),
      transport: Type.Enum(['streamable-http', 'sse'], { description: 'Transport of the server.' }),
      externalAuthConfigRef: nameRef('MCPExternalAuthConfig that the gateway uses for this server.'),
      headerForward: headerForward(),
      hostHeader: hostHeader(),
      caBundleRef: caBundleRef(),
      allowPrivateEndpoint: flag('Allow the endpoint to resolve to a private address.', { default: false }),
      allowPrivateIPs: flag('Alias of `allowPrivateEndpoint`.'),
      insecureAllowHTTP: flag('Allow http URLs for the endpoint.', { default: false }),
    },
    { description: 'Desired state.' },
  ),
  status: Closed(
    {
      ...statusFields,
      phase: Type.Optional(
        Type.Enum(['Pending', 'Valid', 'Failed'], { default: 'Pending', description: 'Summary of the conditions.' }),
      ),
      message: text('Reason for the phase.'),
    },
    { description: 'Observed state.' },
  ),
  rules: [safeUrl('', 'remoteUrl'), ...headerForwardRules('headerForward')],
  objectRules: [labelName()],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary of the conditions.' },
    { name: 'Transport', type: 'string', jsonPath: '.spec.transport', description: 'Transport of the server.' },
    { name: 'Remote URL', type: 'string', jsonPath: '.spec.remoteUrl', description: 'MCP endpoint.' },
    { name: 'Group', type: 'string', jsonPath: '.spec.groupRef.name', description: 'Group of the server.' },
    AGE,
  ],
});
export type MCPServerEntry = ObjectOf<typeof MCPServerEntry>;
