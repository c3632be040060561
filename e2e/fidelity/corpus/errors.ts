import type { Method, ReplyCase } from './case.ts';

const ERRORS: Readonly<Record<string, readonly [Method, string]>> = {
  'error-plain': ['tools/call', '{"code":-32603,"message":"broken"}'],
  'error-own-code': ['tools/call', '{"code":-32000,"message":"server error"}'],
  'error-positive-code': ['tools/call', '{"code":429,"message":"too many"}'],
  'error-code-zero': ['tools/call', '{"code":0,"message":"none"}'],
  'error-large-code': ['tools/call', '{"code":-9007199254740993,"message":"large"}'],
  'error-code-with-point': ['tools/call', '{"code":-32602.0,"message":"point"}'],
  'error-url-elicitation': [
    'tools/call',
    '{"code":-32042,"message":"URL elicitation required","data":{"elicitations":[{"mode":"url","url":"https://e.x/?a=1&b=2","elicitationId":"e","message":"m"}]}}',
  ],
  'error-empty-message': ['tools/call', '{"code":-1,"message":""}'],
  'error-unicode-message': ['tools/call', String.raw`{"code":-1,"message":"\ud800 ü \u0000 🙂"}`],
  'error-data-null': ['tools/call', '{"code":-1,"message":"m","data":null}'],
  'error-data-string': ['tools/call', '{"code":-1,"message":"m","data":"text"}'],
  'error-data-numbers': ['tools/call', '{"code":-1,"message":"m","data":[1.0,-0,1e400,9007199254740993]}'],
  'error-data-duplicates': ['tools/call', '{"code":-1,"message":"m","data":{"a":1,"a":2}}'],
  'error-unknown-members': ['tools/call', '{"data":{},"message":"m","x-hint":"h","code":-1,"stack":"s"}'],
  'error-without-message': ['tools/call', '{"code":-1}'],
  'error-spaced': ['tools/call', '{ "code" : -32001 ,\n "message" : "m" }'],
  'error-method-not-found': ['tools/call', '{"code":-32601,"message":"Method not found"}'],
  'error-unknown-tool': ['tools/call', '{"code":-32602,"message":"Unknown tool: error-unknown-tool"}'],
  'error-resource-not-found': ['resources/read', '{"code":-32002,"message":"gone","data":{"uri":"a:b"}}'],
  'error-resource-internal': ['resources/read', '{"code":-32603,"message":"disk","data":[]}'],
  'error-prompt-arguments': ['prompts/get', '{"code":-32602,"message":"missing","data":{"missing":["a"]}}'],
  'error-completion': ['completion/complete', '{"code":-32602,"message":"no such argument"}'],
};

const IN_HTTP_400: ReplyCase = {
  name: 'error-in-http-400',
  method: 'tools/call',
  member: 'error',
  json: '{"code":-32602,"message":"bad","data":{"path":"/a"}}',
  status: 400,
};

/** JSON-RPC errors of a backend. The gateway forwards them with code, message and data unchanged. */
export const REPLY_ERRORS: readonly ReplyCase[] = [
  ...Object.entries(ERRORS).map(([name, [method, json]]): ReplyCase => ({ name, method, member: 'error', json })),
  IN_HTTP_400,
];
