import { Type, type TSchema, type TStringOptions } from 'typebox';
import { Closed, Duration, QUANTITY_PATTERN } from './fields.ts';

/** Optional members, as nearly every member of a resource or a configuration is one. */
export const text = (description: string, options: object = {}) =>
  Type.Optional(Type.String({ description, ...options }));

/** `items` are options of each string. */
export const texts = (description: string, options: object = {}, items: TStringOptions = {}) =>
  Type.Optional(Type.Array(Type.String(items), { description, ...options }));

export const textMap = (description: string, options: object = {}) =>
  Type.Optional(Type.Record(Type.String(), Type.String(), { description, ...options }));

export const flag = (description: string, options: object = {}) =>
  Type.Optional(Type.Boolean({ description, ...options }));

export const whole = (description: string, options: object = {}) =>
  Type.Optional(Type.Integer({ description, ...options }));

export const duration = (description: string, options: object = {}) => Type.Optional(Duration(description, options));

/** An optional quantity of Kubernetes, as text or as a whole number. */
export const quantity = (description: string) =>
  Type.Optional(
    Type.Unsafe<string | number>({
      type: ['integer', 'string'],
      pattern: QUANTITY_PATTERN,
      maxLength: 32,
      minimum: 0,
      description,
      'x-kubernetes-int-or-string': true,
    }),
  );

/** An optional object that rejects unknown members. */
export const block = <P extends Record<string, TSchema>>(description: string, properties: P, options: object = {}) =>
  Type.Optional(Closed(properties, { description, ...options }));

/** An optional list of objects that reject unknown members. `items` are options of each object. */
export const blocks = <P extends Record<string, TSchema>>(
  description: string,
  properties: P,
  options: object = {},
  items: object = {},
) => Type.Optional(Type.Array(Closed(properties, items), { description, ...options }));

/** An optional map from free names to objects that reject unknown members. */
export const blockMap = <P extends Record<string, TSchema>>(description: string, properties: P, options: object = {}) =>
  Type.Optional(Type.Record(Type.String(), Closed(properties), { description, ...options }));

/** Rules by which server-side apply merges a list: as a whole, as a set, or item by item under a unique key. */
export const ATOMIC = { 'x-kubernetes-list-type': 'atomic' };
export const SET = { 'x-kubernetes-list-type': 'set' };
export const mapBy = (...keys: string[]) => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });

/** An optional object with unchecked members. */
export const freeObject = (description: string) =>
  Type.Optional(
    Type.Object({}, { additionalProperties: true, description, 'x-kubernetes-preserve-unknown-fields': true }),
  );

/** Any JSON value. */
export const freeValue = (description: string) =>
  Type.Optional(Type.Unknown({ description, 'x-kubernetes-preserve-unknown-fields': true }));
