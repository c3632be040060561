import { block, flag, text } from '../../gateway/contract/optional.ts';

/** Tool annotations that replace those of the tool; absent ones stay as they are. */
export const toolAnnotations = () =>
  block('Annotations that replace those of the tool; absent ones stay.', {
    title: text('Title.'),
    readOnlyHint: flag('The tool changes nothing.'),
    destructiveHint: flag('The tool may destroy.'),
    idempotentHint: flag('Calling twice is like calling once.'),
    openWorldHint: flag('The tool reaches beyond its own data.'),
  });
