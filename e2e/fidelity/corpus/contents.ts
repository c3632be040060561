import { content, resultCases, TEXT, type ReplyCase } from './case.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==';

/** Results with every kind of content, and with other members. */
const TOOL_RESULTS: readonly ReplyCase[] = resultCases('tools/call', {
  'content-empty': content(''),
  'content-text': content(TEXT),
  'content-empty-text': content('{"type":"text","text":""}'),
  'content-image': content(`{"type":"image","data":"${PNG}","mimeType":"image/png"}`),
  'content-audio': content('{"type":"audio","data":"UklGRiUAAABXQVZF","mimeType":"audio/wav"}'),
  'content-embedded-text': content(
    '{"type":"resource","resource":{"uri":"file:///a%20b.txt","mimeType":"text/plain","text":"a","_meta":{"k":1}}}',
  ),
  'content-embedded-blob': content(
    `{"type":"resource","resource":{"uri":"data:,x","mimeType":"application/octet-stream","blob":"AP8="}}`,
  ),
  'content-resource-link': content(
    '{"type":"resource_link","uri":"https://example.com/?q=ü#f","name":"n","title":"t","size":9007199254740993}',
  ),
  'content-link-icons': content(
    '{"type":"resource_link","uri":"x:y","name":"n","icons":[{"src":"https://e.x/i.svg","sizes":["any"],"theme":"dark"}]}',
  ),
  'content-unknown-kind': content('{"type":"x-hologram","payload":{"b":1,"a":[]},"data":null}'),
  'content-tool-use': content(
    '{"type":"tool_use","id":"t1","name":"n","input":{"a":1.0}},{"type":"tool_result","toolUseId":"t1","content":[]}',
  ),
  'content-annotations': content(
    '{"type":"text","text":"a","annotations":{"audience":["user","assistant"],"priority":0.30,"lastModified":"2025-01-12T15:00:58Z","x":0}}',
  ),
  'content-item-meta': content('{"type":"text","text":"a","_meta":{"com.example/b":{"z":1,"a":2}}}'),
  'content-mixed': content(`${TEXT},{"type":"image","data":"","mimeType":"image/x-nothing"},${TEXT}`),
  'content-legacy-tool-result': '{"toolResult":{"rows":[[1,2],[3,4]]}}',
  'result-meta': content(TEXT, ',"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"},"progressToken":9}'),
  'result-unknown-members': content(TEXT, ',"x-cost":0.10,"nextCursor":"c","resultType":"x-unknown"'),
  'result-envelope-lookalikes': content(TEXT, ',"id":1,"jsonrpc":"1.0","method":"x","error":{"code":1}'),
  'result-is-error': content('{"type":"text","text":"failed"}', ',"isError":true'),
  'structured-object': content(TEXT, ',"structuredContent":{"city":"Bern","celsius":21.50}'),
  'structured-and-error': content(TEXT, ',"structuredContent":{"code":7},"isError":true'),
  'structured-only': '{"structuredContent":{"a":1},"content":[]}',
  'structured-beside-other-text': content('{"type":"text","text":"not the same"}', ',"structuredContent":{"a":"b"}'),
});

/** Results that make an SDK reject them. */
const ODD_RESULTS: readonly ReplyCase[] = Object.entries({
  'content-not-objects': [content('null,1,"text",[],true'), content('{"type":"text","text":"text"}')],
  'content-without-type': [content('{"text":"no type"},{}'), content('{"text":"no type","type":"text"}')],
  'content-null': ['{"content":null}', '{"content":[]}'],
  'content-missing': ['{}', '{"content":[]}'],
  'result-is-error-null': [content(TEXT, ',"isError":null'), content(TEXT)],
  'result-null-members': [content(TEXT, ',"structuredContent":null,"_meta":null,"x":null'), content(TEXT, ',"x":null')],
  'structured-array': [content(TEXT, ',"structuredContent":[1,[2,[3]],{}]'), content(TEXT)],
  'structured-scalar': [content(TEXT, ',"structuredContent":42'), content(TEXT)],
}).map(([name, [json = '', repaired = '']]) => ({ name, method: 'tools/call', member: 'result', json, repaired }));

const RESOURCE_RESULTS = resultCases('resources/read', {
  'read-text': '{"contents":[{"uri":"corpus://read-text","mimeType":"text/plain","text":"a\\r\\nb"}]}',
  'read-blob': `{"contents":[{"uri":"corpus://read-blob","blob":"${PNG}","mimeType":"image/png"}]}`,
  'read-many':
    '{"contents":[{"uri":"a:1","text":"1","_meta":{"n":1e2}},{"uri":"a:2","blob":""},{"uri":"a:1","text":"1"}]}',
  'read-empty': '{"contents":[]}',
  'read-other-uri': '{"contents":[{"uri":"file:///elsewhere","text":"","annotations":{"priority":1}}],"ttl":0.0}',
});

const PROMPT_RESULTS = resultCases('prompts/get', {
  'prompt-text': '{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"description":"","x":null}',
  'prompt-kinds': `{"messages":[{"role":"assistant","content":{"type":"image","data":"${PNG}","mimeType":"image/png"}},{"role":"system","content":{"type":"resource","resource":{"uri":"a:b","text":""}}}],"_meta":{}}`,
  'prompt-empty': '{"messages":[],"x-unknown":[{}]}',
  'prompt-content-array': '{"messages":[{"role":"user","content":[{"type":"text","text":"a"}],"name":"n"}]}',
});

const COMPLETION_RESULTS = resultCases('completion/complete', {
  'complete-values': '{"completion":{"values":["a","ü"],"total":150.0,"hasMore":true,"x":{}},"_meta":{"t":1}}',
  'complete-none': '{"completion":{"values":[]}}',
});

export const CONTENTS: readonly ReplyCase[] = [
  ...TOOL_RESULTS,
  ...ODD_RESULTS,
  ...RESOURCE_RESULTS,
  ...PROMPT_RESULTS,
  ...COMPLETION_RESULTS,
];
