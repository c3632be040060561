import { Type, type Static, type TSchema } from 'typebox';
import { API_GROUP, API_VERSION, pluralOf } from '../../../gateway/contract/api-group.ts';
import { Closed } from '../../../gateway/contract/fields.ts';
import { ATOMIC, mapBy, text, textMap, texts, whole } from '../../../gateway/contract/optional.ts';
import { rule, type Rule } from '../../../gateway/contract/rule.ts';
import type { Shape } from './defaults.ts';

export const CATEGORY = 'mcp';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1 for a column that only `-o wide` shows. */
  readonly priority?: 1;
}

export const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation.',
};

/** Returns a column with the status of a condition. */
export const conditionColumn = (type: string, name = type): PrinterColumn => ({
  name,
  type: 'string',
  jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
  description: `Status of condition ${type}.`,
});

/** Returns the last column of every kind: the message of the status, or the message of `Ready` where the status has no message. */
const messageColumn = (status: TSchema): PrinterColumn => ({
  name: 'Message',
  type: 'string',
  jsonPath:
    (status as Shape).properties?.['message'] === undefined
      ? '.status.conditions[?(@.type=="Ready")].message'
      : '.status.message',
  description: 'Reason for the state.',
  priority: 1,
});

/**
 * Role of a kind among the others. A `virtualServer` serves a `group` of `member` objects. A `config` is shared by
 * several objects.
 */
export type Role = 'virtualServer' | 'member' | 'group' | 'config';

/** Reference to an object of a kind, as other kinds write it. */
interface ReferencedAs {
  /** Fields of a spec that hold the reference. */
  readonly fields: readonly string[];
  /** Kinds whose references block the deletion of the object; every kind when absent. */
  readonly protectedFrom?: readonly string[];
}

interface Definition<
  Name extends string,
  Collection extends string,
  Part extends Role,
  Spec extends TSchema,
  Status extends TSchema,
> {
  readonly kind: Name;
  /** Name of the map that holds the objects of this kind in a snapshot. */
  readonly collection: Collection;
  readonly role: Part;
  /** Absent for kinds that no other kind refers to. */
  readonly referencedAs?: ReferencedAs;
  /** True when the operator creates objects for each object of this kind. */
  readonly hasWorkload?: boolean;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  /** Rules with paths relative to the spec. */
  readonly rules?: readonly Rule[];
  /** Rules with paths relative to the object. Of the metadata, CEL rules can read only the name. */
  readonly objectRules?: readonly Rule[];
  readonly columns: readonly PrinterColumn[];
}

const SUBDOMAIN_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';

/** Every field of ObjectMeta, so that misspelt ones are rejected as by the API server. */
const Metadata = Closed(
  {
    name: Type.String({
      pattern: SUBDOMAIN_PATTERN,
      maxLength: 253,
      description: 'Name, unique per kind and namespace.',
    }),
    namespace: text('Namespace; `default` when absent.', { pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 }),
    labels: textMap('Labels.'),
    annotations: textMap('Annotations.'),
    generateName: text('Prefix of a generated name.'),
    generation: whole('Number of changes of the spec.'),
    uid: text('Identity of this object.'),
    resourceVersion: text('Version of this object.'),
    creationTimestamp: text('Time of creation.'),
    deletionTimestamp: text('Time of deletion.'),
    deletionGracePeriodSeconds: whole('Grace period of the deletion in seconds.'),
    selfLink: text('Unused.'),
    finalizers: texts('Finalizers.'),
    ownerReferences: Type.Optional(Type.Array(Type.Object({}), { description: 'Owners.' })),
    managedFields: Type.Optional(Type.Array(Type.Object({}), { description: 'Field owners.' })),
  },
  { description: 'Standard object metadata.' },
);

const conditions = Type.Optional(
  Type.Array(
    Closed({
      type: Type.String({ maxLength: 316, description: 'Type of the condition.' }),
      status: Type.Enum(['True', 'False', 'Unknown'], { description: 'Status of the condition.' }),
      reason: Type.String({ minLength: 1, maxLength: 1024, description: 'Reason for the last status, in CamelCase.' }),
      message: Type.String({ maxLength: 32768, description: 'Details in plain text.' }),
      lastTransitionTime: Type.String({
        format: 'date-time',
        description: 'Time when the status of the condition last changed.',
      }),
      observedGeneration: whole('Generation of the spec that the condition describes.', { format: 'int64' }),
    }),
    { description: 'Conditions of the object.', ...mapBy('type') },
  ),
);

/** Status of an object that the operator has not read yet: tools that wait for an object do not count it as ready. */
const UNOBSERVED = { observedGeneration: -1 };

/** Fields of every status. */
export const statusFields = {
  observedGeneration: whole('Generation of the spec that the status describes; -1 before the operator reads it.', {
    default: UNOBSERVED.observedGeneration,
    format: 'int64',
  }),
  conditions,
};

/** Fields of the status of an object with pods. Its subresource `scale` shows them. */
export const podFields = {
  replicas: whole('Number of pods.', { format: 'int32' }),
  selector: text('Label selector of the pods.'),
};

/** List of names in a status. Server-side apply replaces it as a whole. */
export const statusNames = (description: string) => texts(description, ATOMIC);

/** Defines a kind. Its type, validator, CRD, rules and reference page derive from the definition. */
export function defineKind<
  const Name extends string,
  const Collection extends string,
  const Part extends Role,
  Spec extends TSchema,
  Status extends TSchema,
>(definition: Definition<Name, Collection, Part, Spec, Status>) {
  const { kind, rules = [], objectRules = [], columns, ...rest } = definition;
  const schema = Closed(
    {
      apiVersion: Type.Enum([`${API_GROUP}/${API_VERSION}`], { description: 'API group and version.' }),
      kind: Type.Enum([kind], { description: 'Kind of the object.' }),
      metadata: Metadata,
      spec: definition.spec,
      status: Type.Optional<Status>({ ...definition.status, default: UNOBSERVED }),
    },
    { description: definition.description },
  );
  const fromSpec = rules.map((each) => ({
    ...each,
    path: each.path === '' ? 'spec' : `spec${separator(each.path)}${each.path}`,
  }));
  return {
    ...rest,
    kind,
    singular: kind.toLowerCase(),
    plural: pluralOf(kind),
    columns: [...columns, messageColumn(definition.status)],
    schema,
    rules: [...objectRules, ...fromSpec],
  };
}

const separator = (path: string): string => (/^[[{]/.test(path) ? '' : '.');

/** Definition of any kind, for generators and validators. */
export type Kind = Omit<ReturnType<typeof defineKind>, 'schema'> & { readonly schema: TSchema };

/** Valid object of a kind. */
export type ObjectOf<K extends { readonly schema: TSchema }> = Static<K['schema']>;

interface Named {
  readonly metadata: { readonly name: string };
}

/** Rules for a name that becomes part of names of Deployments, Services and pods, such as `mcp-<name>-0`. */
export const workloadName = (): Rule[] => [
  rule<Named>('', {
    field: 'metadata.name',
    rule: 'size(self.metadata.name) <= 52',
    message: 'metadata.name must have at most 52 characters',
    check: (self) => self.metadata.name.length <= 52,
  }),
  labelName(),
];

/** Rule for a name that becomes a backend name, and thus part of tool names. */
export const labelName = (): Rule =>
  rule<Named>('', {
    field: 'metadata.name',
    rule: "size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",
    message: 'metadata.name must have at most 63 characters and no dot',
    check: (self) => self.metadata.name.length <= 63 && !self.metadata.name.includes('.'),
  });
