import { Type } from 'typebox';
import { defineOperation, type Operation, sendJson } from '../../../http/endpoint/operation.ts';

/** Endpoint as a contributor might add it: this file contains everything about it. */
export const toyEndpoint = (): readonly Operation[] => [
  defineOperation({
    method: 'PUT',
    paths: ['/toys/{name}'],
    input: {
      path: Type.Object({ name: Type.String({ maxLength: 8 }) }),
      body: Type.Object({ sizes: Type.Array(Type.Integer({ minimum: 1 })) }),
    },
    handle: (_req, res, { path, body }) => {
      sendJson(res, 200, { name: path.name, largest: Math.max(...body.sizes) });
    },
  }),
];
