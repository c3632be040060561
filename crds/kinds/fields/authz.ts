import { Type } from 'typebox';
import { Closed } from '../../../gateway/contract/fields.ts';
import { ATOMIC, block, text } from '../../../gateway/contract/optional.ts';
import { nameRef, RefName } from '../../../gateway/contract/references.ts';
import { at, atMostOne, union, type Rule } from '../../../gateway/contract/rule.ts';
import { providerName } from './provider-name.ts';

const claim = (description: string) => text(description, { maxLength: 253 });

const authzConfig = block('Access control by Cedar policies.', {
  type: Type.Optional(
    Type.Enum(['configMap', 'inline'], {
      default: 'configMap',
      description: 'Source of the policies. Set the field of the same name.',
    }),
  ),
  configMap: block('ConfigMap that holds the policies.', {
    name: RefName('Name of the ConfigMap.'),
    key: text('Key of the policy document in the ConfigMap, JSON or YAML.', { default: 'authz.json', maxLength: 253 }),
  }),
  inline: block('Policies in this object.', {
    policies: Type.Array(Type.String(), { minItems: 1, description: 'Cedar policies.', ...ATOMIC }),
    entitiesJson: text('Static Cedar entities.', { default: '[]' }),
    primaryUpstreamProvider: providerName('Deprecated: use `authServerConfig.primaryUpstreamProvider`.'),
  }),
  groupClaimName: claim('Claim that holds the groups. Takes precedence over the well-known claims.'),
  roleClaimName: claim('Claim that holds the roles. Roles are used in addition to groups.'),
  groupEntityType: text('Cedar entity type of groups. Defaults to `Group`.', {
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    maxLength: 63,
  }),
});

export const authzFields = {
  authzConfig,
  authzConfigRef: nameRef('Shared policy object.'),
};

export const authzRules: Rule[] = [
  atMostOne('', 'authzConfig', 'authzConfigRef'),
  ...at(
    'authzConfig',
    union('', 'type', [
      { type: 'configMap', member: 'configMap' },
      { type: 'inline', member: 'inline' },
    ]),
  ),
];

/** `telemetryConfigRef`: reference to a shared telemetry configuration. */
export const telemetryConfigRef = () =>
  Type.Optional(
    Closed(
      {
        name: RefName('Name of the object.'),
        serviceName: text('Value of `service.name`. Defaults to the name of the object.', { maxLength: 253 }),
      },
      { description: 'Shared telemetry configuration.' },
    ),
  );
