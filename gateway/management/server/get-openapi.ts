import { Type } from 'typebox';
import { defineManagementOperation } from '../operation.ts';

export const getOpenApi = defineManagementOperation({
  id: 'getOpenApi',
  method: 'GET',
  path: '/api/openapi.json',
  tag: 'server',
  summary: 'Get this document',
  input: {},
  success: { status: 200, body: Type.Object({}, { title: 'OpenApiDocument', description: 'OpenAPI 3.1 document.' }) },
  errors: {},
  run: ({ openApi }) => openApi(),
});
