import { Type } from 'typebox';
import { Closed } from '../../../gateway/contract/fields.ts';
import { defineKind, statusFields } from '../schema/kind.ts';

/** A config kind as a contributor might add it. */
export const ToyConfig = defineKind({
  kind: 'ToyConfig',
  collection: 'toyConfigs',
  role: 'config',
  referencedAs: { fields: ['toyConfigRef'] },
  shortNames: ['toy'],
  description: 'Toy settings shared by several servers.',
  spec: Closed(
    { colour: Type.String({ minLength: 1, maxLength: 16, description: 'Colour of the toy.' }) },
    { description: 'Desired state.' },
  ),
  status: Closed(statusFields, { description: 'Observed state.' }),
  columns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Time since creation.' }],
});
