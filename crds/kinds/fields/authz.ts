import { Type } from 'typebox';
import { Closed } from '../../../gateway/contract/fields.ts';
import { block, text } from '../../../gateway/contract/optional.ts';
import { nameRef, RefName } from '../../../gateway/contract/references.ts';
import { at, atMostOne, union, type Rule } from '../../../gateway/contract/rule.ts';
import { cedarFields, groupFields } from '../../../gateway/policy/authorization/config.ts';
import { providerName } from './auth-server-trust.ts';

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
    ...cedarFields,
    primaryUpstreamProvider: providerName('Deprecated: use `authServerConfig.primaryUpstreamProvider`.'),
  }),
  ...groupFields,
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
