import { Type } from 'typebox';
import { Closed, HOST_AND_PORT_PATTERN } from '../../gateway/contract/fields.ts';
import { ATOMIC, text, texts } from '../../gateway/contract/optional.ts';
import { union } from '../../gateway/contract/rule.ts';
import { STRATEGIES } from '../../gateway/outgoing/index.ts';
import { AGE, conditionColumn, defineKind, statusFields, type ObjectOf } from './schema/kind.ts';
import { authServerConfig, authServerRules } from './fields/auth-server-config.ts';
import { variantMembers, variantRules } from './fields/variants.ts';

/** Type of a config for `authServerRef`, which is no credential. */
export const AUTH_SERVER = 'embeddedAuthServer';

const described = [
  ...STRATEGIES.map(({ type, description }) => `\`${type}\`: ${description}`),
  `\`${AUTH_SERVER}\`: no credential, but the authorization server of an MCPServer that refers to this object in \`authServerRef\`.`,
].join(' ');

/** Method by which the gateway obtains the credential for a backend. */
export const MCPExternalAuthConfig = defineKind({
  kind: 'MCPExternalAuthConfig',
  collection: 'externalAuthConfigs',
  role: 'config',
  referencedAs: { fields: ['externalAuthConfigRef', 'authServerRef'] },
  shortNames: ['extauth', 'mcpextauth'],
  description: 'Method by which the gateway obtains the credential for a backend.',
  spec: Closed(
    {
      type: Type.Enum([...STRATEGIES.map(({ type }) => type), AUTH_SERVER], { description: described }),
      ...variantMembers(STRATEGIES),
      embeddedAuthServer: authServerConfig(),
      allowedHosts: texts(
        'Hosts that may receive the credential: `HOST`, `HOST:PORT` or `*.DOMAIN`. When absent, these are the MCPServers of this namespace and each MCPServerEntry that `outgoingAuth` of the VirtualMCPServer names.',
        { maxItems: 64, ...ATOMIC },
        { pattern: HOST_AND_PORT_PATTERN, maxLength: 259 },
      ),
    },
    { description: 'Desired state.' },
  ),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'Observed state.' }),
  rules: [
    ...union('', 'type', [
      ...STRATEGIES.flatMap(({ type, spec }) => (spec ? [{ type, member: type }] : [])),
      { type: AUTH_SERVER, member: AUTH_SERVER },
    ]),
    ...variantRules(STRATEGIES),
    ...authServerRules(AUTH_SERVER),
  ],
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'Authentication strategy.' },
    conditionColumn('Valid'),
    AGE,
  ],
});
export type MCPExternalAuthConfig = ObjectOf<typeof MCPExternalAuthConfig>;
