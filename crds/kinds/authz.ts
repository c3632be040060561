import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { ATOMIC, block, text } from '../../gateway/contract/optional.ts';
import { nameRef, RefName } from '../../gateway/contract/references.ts';
import { at, atMostOne, union, type Rule } from '../../gateway/contract/rule.ts';
import { providerName } from './provider-name.ts';

const claim = (description: string) => text(description, { maxLength: 253 });

const authzConfig = block('Who may call what, as Cedar policies.', {
  type: Type.Optional(
    Type.Enum(['configMap', 'inline'], {
      default: 'configMap',
      description: 'Where the policies stand; the member of this name is set.',
    }),
  ),
  configMap: block('Policies in a ConfigMap.', {
    name: RefName('Name of the ConfigMap.'),
    key: text('Key of the policy document, JSON or YAML.', { default: 'authz.json', maxLength: 253 }),
  }),
  inline: block('Policies in place.', {
    policies: Type.Array(Type.String(), { minItems: 1, description: 'Cedar policies.', ...ATOMIC }),
    entitiesJson: text('Static Cedar entities.', { default: '[]' }),
    primaryUpstreamProvider: providerName('Former place of `authServerConfig.primaryUpstreamProvider`.'),
  }),
  groupClaimName: claim('Claim that holds groups; wins over the well-known ones.'),
  roleClaimName: claim('Claim that holds roles, read beside the groups.'),
  groupEntityType: text('Cedar entity type of groups; `Group` when absent.', {
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    maxLength: 63,
  }),
});

export const authzFields = {
  authzConfig,
  authzConfigRef: nameRef('A shared policy object.'),
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

/** Optional parts of a shared telemetry configuration's reference. */
export const telemetryConfigRef = () =>
  Type.Optional(
    Closed(
      {
        name: RefName('Name of the object.'),
        serviceName: text('service.name; the name of the resource when absent.', { maxLength: 253 }),
      },
      { description: 'A shared telemetry configuration.' },
    ),
  );
