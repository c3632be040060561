import type { ReplyCase } from './case.ts';
import { CONTENTS } from './contents.ts';
import { REPLY_ERRORS } from './errors.ts';
import { TEXTS } from './texts.ts';

/** All replies of the corpus. */
export const REPLIES: readonly ReplyCase[] = [...CONTENTS, ...TEXTS, ...REPLY_ERRORS];
