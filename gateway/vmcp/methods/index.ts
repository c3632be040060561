import { callTool } from './call-tool.ts';
import { complete } from './complete.ts';
import { getPrompt } from './get-prompt.ts';
import { list } from './lists.ts';
import { limited, type ObservedMethod } from './method.ts';
import { readResource } from './read-resource.ts';
import { setLevel } from './set-level.ts';
import { subscription } from './subscribe.ts';

/** Handlers of all requests within a session. `initialize` opens the session, so the edge handles it. */
export const METHODS: ReadonlyMap<string, ObservedMethod> = new Map<string, ObservedMethod>([
  ['tools/call', limited(callTool)],
  ['tools/list', list('tools')],
  ['resources/list', list('resources')],
  ['resources/templates/list', list('templates')],
  ['resources/read', limited(readResource)],
  ['resources/subscribe', limited(subscription(true))],
  ['resources/unsubscribe', limited(subscription(false))],
  ['prompts/list', list('prompts')],
  ['prompts/get', limited(getPrompt)],
  ['completion/complete', limited(complete)],
  ['logging/setLevel', setLevel],
  [
    'ping',
    (_server, { answer }) => {
      answer.result('{}');
    },
  ],
]);
