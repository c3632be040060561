import { Type } from 'typebox';
import { Closed, HttpUrl } from '../../gateway/contract/fields.ts';
import { flag, text } from '../../gateway/contract/optional.ts';
import { caBundleRef, NameRef, nameRef } from '../../gateway/contract/references.ts';
import { safeUrl } from '../../gateway/contract/rule.ts';
import { headerForward, headerForwardRules } from './header-fields.ts';
import { defineKind, labelName, statusFields, type ObjectOf } from './kind.ts';

/** A backend that already runs somewhere. */
export const MCPServerEntry = defineKind({
  kind: 'MCPServerEntry',
  collection: 'entries',
  role: 'member',
  shortNames: ['mcpentry'],
  description: 'An MCP server that already runs somewhere, a member of a group.',
  spec: Closed(
    {
      groupRef: NameRef('MCPGroup that the server belongs to.'),
      remoteUrl: HttpUrl('MCP endpoint of the server.', { maxLength: 2048 }),
      transport: Type.Enum(['streamable-http', 'sse'], { description: 'How the server is spoken to.' }),
      externalAuthConfigRef: nameRef('MCPExternalAuthConfig: how the gateway authenticates to this server.'),
      headerForward: headerForward(),
      caBundleRef: caBundleRef(),
      allowPrivateEndpoint: flag('Let the endpoint resolve to a private address.', { default: false }),
      allowPrivateIPs: flag('Alias of `allowPrivateEndpoint`.'),
      insecureAllowHTTP: flag('Let the endpoint be spoken to without TLS.', { default: false }),
    },
    { description: 'What is wanted.' },
  ),
  status: Closed(
    {
      ...statusFields,
      phase: Type.Optional(Type.Enum(['Pending', 'Valid', 'Failed'], { default: 'Pending', description: 'Summary.' })),
      message: text('Why the phase is what it is.'),
    },
    { description: 'What was found.' },
  ),
  rules: [safeUrl('', 'remoteUrl'), ...headerForwardRules('headerForward')],
  objectRules: [labelName()],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary.' },
    { name: 'Transport', type: 'string', jsonPath: '.spec.transport', description: 'Transport.' },
    { name: 'Remote URL', type: 'string', jsonPath: '.spec.remoteUrl', description: 'MCP endpoint.' },
    { name: 'Group', type: 'string', jsonPath: '.spec.groupRef.name', description: 'Group.' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Age.' },
  ],
});
export type MCPServerEntry = ObjectOf<typeof MCPServerEntry>;
