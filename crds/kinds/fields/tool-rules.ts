import { blockMap, text, texts } from '../../../gateway/contract/optional.ts';
import { toolAnnotations } from './composite-tools.ts';

/** Filter of a backend's tools. `merge` is the rule by which server-side apply merges the list. */
export const toolFilter = (merge: object) =>
  texts('Original names of the tools to advertise. All tools when absent or empty.', { maxItems: 512, ...merge });

/** Changes to a backend's tools. */
export const toolOverrides = () =>
  blockMap(
    'Changes to tools, by original name.',
    {
      name: text('Advertised name of the tool.', { minLength: 1, maxLength: 128 }),
      description: text('Advertised description of the tool.'),
      annotations: toolAnnotations(),
    },
    { maxProperties: 512 },
  );
