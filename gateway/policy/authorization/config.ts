import { Type, type Static } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { ATOMIC, text } from '../../contract/optional.ts';
/** Longest text of all policies, and of the entities, in bytes. Both stand in ConfigMaps, which hold 1 MiB. */
export const MAX_POLICY_BYTES = 256 * 1_024;
/** Deepest nesting of a policy's syntax tree. The evaluator's stack holds a few times as much. */
export const MAX_POLICY_DEPTH = 100;
/** Deepest nesting that Cedar reads as JSON: 128 levels, of which an expression has two. */
export const MAX_JSON_DEPTH = 58;
export const MAX_POLICIES = 1_000;
export const MAX_ENTITIES = 10_000;
/** Longest chain of parents of an entity. */
export const MAX_ANCESTRY = 100;

const claim = (description: string) => text(description, { maxLength: 253 });
const ENTITY_TYPE = '^[A-Za-z_][A-Za-z0-9_]*$';

/** Fields of a resource that holds policies. */
export const cedarFields = {
  policies: Type.Array(Type.String(), { minItems: 1, description: 'Cedar policies.', ...ATOMIC }),
  entitiesJson: text('Static Cedar entities, as a JSON array.', { default: '[]' }),
};

/** Fields that say how claims become groups. */
export const groupFields = {
  groupClaimName: claim('Claim that holds the groups. Takes precedence over the well-known claims.'),
  roleClaimName: claim('Claim that holds the roles. Roles are used in addition to groups.'),
  groupEntityType: text('Cedar entity type of groups. Defaults to `Group`.', { pattern: ENTITY_TYPE, maxLength: 63 }),
};

/** `authz_config` of a gateway. A policy file is a document of the same shape. */
export const AuthorizationConfig = Closed({
  type: Type.Enum(['cedarv1'], { description: 'Kind of policy.' }),
  version: Type.Enum(['1.0'], { description: 'Version of this document.' }),
  cedar: Closed(
    {
      policies: Type.Array(Type.String(), { minItems: 1, description: 'Cedar policies.' }),
      entities_json: text('Static Cedar entities, as a JSON array.'),
      group_claim_name: claim('Claim that holds the groups.'),
      role_claim_name: claim('Claim that holds the roles.'),
      group_entity_type: text('Cedar entity type of groups. Defaults to `Group`.', {
        pattern: ENTITY_TYPE,
        maxLength: 63,
      }),
      primary_upstream_provider: text('Upstream provider whose stored token gives the claims.', {
        minLength: 1,
        maxLength: 63,
      }),
    },
    { description: 'Policies and entities.' },
  ),
});
export type AuthorizationConfig = Static<typeof AuthorizationConfig>;

export const DEFAULT_GROUP_TYPE = 'Group';
